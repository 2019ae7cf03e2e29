// Activity: being written.
import { h } from "../dom.js";
import { PageHead } from "../parts/basics.js";
export const activity = { label: "Activity", search: "", describe: () => h(PageHead, { title: "Activity", scope: "" }) };
