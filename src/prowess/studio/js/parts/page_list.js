// A long list in the middle of a page that scrolls as a whole: it draws only what can be seen, as
// WindowedList does, but has no scroll bar of its own.

import { h, redraw } from "../dom.js";
import { WindowedList } from "./list.js";

const SPARE_ROWS = 6;

export class PageList extends WindowedList {
  view({ items, keyOf, row, label, drawn: told }) {
    const first = Math.min(items.length, this._first());
    const last = Math.max(first, Math.min(items.length, Math.ceil((this.top + this.height) / this.rowHeight) + SPARE_ROWS));
    const some = items.slice(first, last);
    told?.(some);
    const drawn = some.map((item, place) => row(item, {
      key: keyOf(item), role: "listitem", "aria-setsize": items.length, "aria-posinset": first + place + 1,
    }));
    return h("div", {
      key: "rows", class: "page-rows", role: "list", "aria-label": label, style: { height: `${items.length * this.rowHeight}px` },
      oncreate: (node) => this._appear(node), onupdate: () => this._measure(), onremove: () => this._gone(),
    }, h("div", { class: "rows-window", role: "presentation", style: { transform: `translateY(${first * this.rowHeight}px)` } }, drawn));
  }

  reveal(place, { middle = false } = {}) {
    if (!this.node || place < 0) return;
    const above = this.node.getBoundingClientRect().top - this.scroller.getBoundingClientRect().top;
    const top = above + place * this.rowHeight;
    const spare = this.scroller.clientHeight - this.rowHeight;
    if (middle) this.scroller.scrollTop += top - spare / 2;
    else if (top < 0) this.scroller.scrollTop += top;
    else if (top > spare) this.scroller.scrollTop += top - spare;
    this._measure();
  }

  _first() {
    return Math.max(0, Math.floor(this.top / this.rowHeight) - SPARE_ROWS);
  }

  _appear(node) {
    this.node = node;
    this.scroller = node.closest(".page-scroll") ?? document.documentElement;
    this._moved = () => this._measure();
    this.scroller.addEventListener("scroll", this._moved, { passive: true });
    this._watch = new ResizeObserver(this._moved);
    this._watch.observe(this.scroller);
    this._measure();
  }

  // What stands above the list may have grown or gone: where it begins is looked up each time.
  _measure() {
    if (!this.node) return;
    const before = [this._first(), this.height];
    this.top = this.scroller.getBoundingClientRect().top - this.node.getBoundingClientRect().top;
    this.height = this.scroller.clientHeight;
    if (before[0] !== this._first() || before[1] !== this.height) redraw();
  }

  _gone() {
    this._watch?.disconnect();
    this.scroller?.removeEventListener("scroll", this._moved);
    this.node = null;
  }
}
