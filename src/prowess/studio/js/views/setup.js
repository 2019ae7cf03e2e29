// Setup: being written.
import { h } from "../dom.js";
import { PageHead } from "../parts/basics.js";
export const setup = { label: "Setup", search: "", describe: () => h(PageHead, { title: "Setup", scope: "" }) };
