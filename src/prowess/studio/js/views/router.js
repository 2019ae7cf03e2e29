// Router: being written.
import { h } from "../dom.js";
import { PageHead } from "../parts/basics.js";
export const router = { label: "Router", search: "", describe: () => h(PageHead, { title: "Router", scope: "" }) };
