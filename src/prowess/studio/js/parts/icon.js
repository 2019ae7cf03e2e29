// A dozen line drawings on a grid of 16, one stroke width. They stand beside a word, so they are
// hidden from screen readers.

import { h } from "../dom.js";

const PATHS = {
  home: "M2.5 7.5 8 3l5.5 4.5M4 6.5v6.5h8V6.5M6.8 13V9.5h2.4V13",
  connect: "M6.5 9.5 3.8 12.2M9.5 6.5l2.7-2.7M5 7l4 4-1.2 1.2a2.8 2.8 0 0 1-4 0 2.8 2.8 0 0 1 0-4zM11 9 7 5l1.2-1.2a2.8 2.8 0 0 1 4 0 2.8 2.8 0 0 1 0 4z",
  skills: "M2.5 4.5h11M2.5 8h11M2.5 11.5h7",
  router: "M3 12.5V9a2.5 2.5 0 0 1 2.5-2.5H13M10.5 4 13 6.5 10.5 9M3 3.5v2",
  setup: "M3 4.5h6M12 4.5h1M3 8h1M7 8h6M3 11.5h4M10 11.5h3M10.5 3v3M5.5 6.5v3M8.5 10v3",
  library: "M3 3v10M6 3v10M9 3v10M11.2 3.4l2.3 9.4",
  hub: "M8 2.5 13 5v6l-5 2.5L3 11V5zM3 5l5 2.5L13 5M8 7.5v6",
  workshop: "M2.5 9.5h3l1 2h3l1-2h3M2.5 9.5v3.5h11V9.5L11.5 3h-7z",
  activity: "M2 9h3l2-5 2.5 8L11.5 7H14",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.5 10.5 14 14",
  check: "M3 8.5 6.5 12 13 4.5",
  alert: "M8 2.5 14 13H2zM8 6.5v3M8 11.3v.2",
  close: "M4 4l8 8M12 4l-8 8",
  lock: "M4 7.5h8V13H4zM5.5 7.5V5.5a2.5 2.5 0 0 1 5 0v2",
  minus: "M3.5 8h9",
  plus: "M3.5 8h9M8 3.5v9",
  arrow: "M3 8h10M9 4l4 4-4 4",
  back: "M13 8H3M7 4 3 8l4 4",
  theme: "M8 13.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM8 2.5v11M8 5l3.5 1.2M8 8h5M8 11l3.5-1",
  file: "M4 2.5h5L12 5.5v8H4zM9 2.5v3h3",
  folder: "M2.5 4h4l1.5 1.5h5.5V12.5h-11z",
  key: "M6 10a3 3 0 1 1 2.6-4.5L14 5.5v2h-1.5v2h-2v-2H8.8A3 3 0 0 1 6 10zM5.5 7v.1",
  program: "M2.5 3.5h11v9h-11zM5 6.5l2 1.5-2 1.5M8.5 9.5h2.5",
  clock: "M8 13.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM8 5v3l2 1.5",
  help: "M6 6.2A2 2 0 1 1 8.2 8.2c-.2 0-.2.6-.2 1.3M8 11.8v.2",
  copy: "M5.5 5.5h7v7h-7zM3.5 10.5v-7h7",
  undo: "M3 6.5h6.5a3.5 3.5 0 0 1 0 7H6M3 6.5 6 3.5M3 6.5l3 3",
};

export function Icon({ name }) {
  return h("svg", { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true", focusable: "false" }, h("path", { d: PATHS[name] }));
}
