// A list of any length that draws only what can be seen. Rows have one height; the list is a
// listbox-like set of rows with one tab stop per row's own controls, and tells screen readers its
// whole length.

import { h, redraw } from "../dom.js";

const SPARE_ROWS = 6;

export class WindowedList {
  constructor({ rowHeight = 60 } = {}) {
    this.rowHeight = rowHeight;
    this.top = 0;
    this.height = 800;
    this.node = null;
  }

  // `items` with `keyOf(item)`; `row(item, attributes)` describes one and spreads the attributes.
  // `drawn` is told the items that are.
  view({ items, keyOf, row, label, current, drawn: told }) {
    const first = Math.max(0, Math.floor(this.top / this.rowHeight) - SPARE_ROWS);
    const last = Math.min(items.length, Math.ceil((this.top + this.height) / this.rowHeight) + SPARE_ROWS);
    const some = items.slice(first, last);
    told?.(some);
    const drawn = some.map((item, place) => row(item, {
      key: keyOf(item), role: "listitem", "aria-setsize": items.length, "aria-posinset": first + place + 1,
      "aria-current": current !== undefined && keyOf(item) === current ? "true" : undefined,
    }));
    return h("div", {
      // With a key it never takes over the element of what stood here before, such as a skeleton.
      key: "rows", class: "rows", role: "region", "aria-label": label, tabindex: 0,
      oncreate: (node) => this._appear(node), onremove: () => this._gone(),
    }, h("div", { class: "rows-inside", role: "list", "aria-label": label, style: { height: `${items.length * this.rowHeight}px` } },
      h("div", { class: "rows-window", role: "presentation", style: { transform: `translateY(${first * this.rowHeight}px)` } }, drawn)));
  }

  // Bring a row into sight, for the keyboard; into the middle, where what stands above may still grow.
  reveal(place, { middle = false } = {}) {
    if (!this.node || place < 0) return;
    const top = place * this.rowHeight;
    const spare = this.node.clientHeight - this.rowHeight;
    if (middle) this.node.scrollTop = top - spare / 2;
    else if (top < this.node.scrollTop) this.node.scrollTop = top;
    else if (top > this.node.scrollTop + spare) this.node.scrollTop = top - spare;
  }

  _appear(node) {
    this.node = node;
    node.scrollTop = this.top;
    node.addEventListener("scroll", () => this._scrolled(), { passive: true });
    this._watch = new ResizeObserver(() => {
      if (this.height === node.clientHeight) return;
      this.height = node.clientHeight;
      redraw();
    });
    this._watch.observe(node);
  }

  // Most steps show no row that is not drawn already.
  _scrolled() {
    const before = Math.floor(this.top / this.rowHeight);
    this.top = this.node?.scrollTop ?? this.top;
    if (Math.floor(this.top / this.rowHeight) !== before) redraw();
  }

  _gone() {
    this._watch?.disconnect();
    this.node = null;
  }
}
