// Plots over days, drawn in percentages so that they need to know no size: the words of the axes are
// text beside the drawing and stay as large as all text. Everything they show is in a table, too.

import { h } from "../dom.js";
import { count } from "../words.js";

const STEPS = [1, 2, 4, 6, 10];

// A round number at or above the highest bar; its half is round, too, where there is one.
export function niceTop(highest) {
  if (highest <= 2) return Math.max(1, highest);
  const ten = 10 ** Math.floor(Math.log10(highest));
  return ten * STEPS.find((step) => step * ten >= highest);
}

const inLocalTime = (day) => new Date(`${day}T00:00:00`);
export const dayText = (day) => inLocalTime(day).toLocaleDateString("en-GB", { day: "numeric", month: "short" });
const longDay = (day) => inLocalTime(day).toLocaleDateString("en-GB", { weekday: "short", day: "numeric", month: "short" });

// The days up to today, for what is counted in this page.
export const lastDays = (number) => Array.from({ length: number }, (_, at) => {
  const day = new Date();
  day.setDate(day.getDate() - (number - 1 - at));
  return day.toLocaleDateString("en-CA");
});

const sum = (values) => values.reduce((total, value) => total + value, 0);
const percent = (share) => `${(100 * share).toFixed(3)}%`;

function Bar({ at, of, top, day, series }) {
  let from = 0;
  const slot = 1 / of;
  const words = series.map(({ label }, place) => (day.values[place] || series.length === 1 ? `${label} ${day.values[place]}` : "")).filter(Boolean).join(", ");
  return h("g", { key: day.day }, h("title", null, `${longDay(day.day)}: ${words || "nothing"}`),
    h("rect", { class: "plot-slot", x: percent(at * slot), width: percent(slot), y: 0, height: "100%" }),
    series.map(({ id }, place) => {
      const height = day.values[place] / top;
      from += height;
      return h("rect", { key: id, class: `plot-bar plot-${id}`, x: percent((at + 0.12) * slot), width: percent(0.76 * slot), y: percent(1 - from), height: percent(height) });
    }));
}

function said(title, days, totals) {
  if (!days.length) return title;
  const most = totals.indexOf(Math.max(...totals));
  return `${title}, per day from ${dayText(days[0].day)} to ${dayText(days.at(-1).day)}${totals[most] ? `; most on ${dayText(days[most].day)}, ${totals[most]}` : "; none"}`;
}

// `days`: [{day: "2026-11-02", values: [...]}], one value for each of `series`: [{id, label}].
export function DayPlot({ title, days, series, figure }) {
  const totals = days.map(({ values }) => sum(values));
  const top = niceTop(Math.max(0, ...totals));
  const marks = top % 2 && top !== 1 ? [top, 0] : top === 1 ? [1, 0] : [top, top / 2, 0];
  const middle = days[Math.floor((days.length - 1) / 2)];
  return h("div", { class: ["plot", figure] },
    h("div", { class: "plot-y", "aria-hidden": "true" }, marks.map((mark) => h("span", { key: mark, style: { top: percent(1 - mark / top) } }, mark.toLocaleString("en")))),
    h("svg", { class: "plot-drawing", role: "img", "aria-label": said(title, days, totals) },
      marks.map((mark) => h("line", { key: `line ${mark}`, class: mark ? "plot-line" : "plot-line plot-base", x1: 0, x2: "100%", y1: percent(1 - mark / top), y2: percent(1 - mark / top) })),
      days.map((day, at) => h(Bar, { at, of: days.length, top, day, series }))),
    h("div", { class: "plot-x", "aria-hidden": "true" }, days.length > 0 && [h("span", null, dayText(days[0].day)), days.length > 6 ? h("span", null, dayText(middle.day)) : null, h("span", null, dayText(days.at(-1).day))]));
}

// One small multiple: what it counts, how many in all, and the days.
export function SmallPlot({ title, about, href, days, series }) {
  const total = sum(days.map(({ values }) => sum(values)));
  return h("figure", { class: "small-plot" },
    h("figcaption", null, h("h3", null, h("a", { href }, title)), h("span", { class: "plot-total" }, total.toLocaleString("en")),
      h("p", { class: "meta" }, about), series.length > 1 && h(PlotLegend, { series })),
    h(DayPlot, { title, days, series }));
}

export const PlotLegend = ({ series }) => h("ul", { class: "legend" }, series.map(({ id, label, number }) => h("li", { key: id },
  h("svg", { class: "swatch", "aria-hidden": "true" }, h("rect", { class: `plot-${id}`, width: "100%", height: "100%" })), label, number === undefined ? null : ` ${number}`)));

// The same in numbers, the latest day first.
export function DayTable({ label, days, series }) {
  return h("details", { class: "numbers" }, h("summary", null, "Show the numbers"),
    h("div", { class: "table-scroll", tabindex: 0, role: "region", "aria-label": label },
      h("table", { class: "table" }, h("caption", null, `${label}, ${count(days.length, "day")}`),
        h("thead", null, h("tr", null, h("th", { scope: "col" }, "Day"), series.map(({ id, label: name }) => h("th", { key: id, scope: "col", class: "number" }, name)))),
        h("tbody", null, [...days].reverse().map(({ day, values }) => h("tr", { key: day }, h("th", { scope: "row" }, longDay(day)), values.map((value, place) => h("td", { key: place, class: "number" }, value.toLocaleString("en")))))))));
}

// A length to be compared with those in the rows above and below; the number stands beside it.
export const ShareBar = ({ share, kind = "used" }) => h("svg", { class: "share-bar", "aria-hidden": "true" },
  h("rect", { class: "score-track", width: "100%", height: "100%" }), h("rect", { class: `plot-${kind}`, width: percent(Math.min(1, Math.max(0, share))), height: "100%" }));
