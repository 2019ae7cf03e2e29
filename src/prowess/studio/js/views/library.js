// Library: being written.
import { h } from "../dom.js";
import { PageHead } from "../parts/basics.js";
export const library = { label: "Library", search: "", describe: () => h(PageHead, { title: "Library", scope: "" }) };
