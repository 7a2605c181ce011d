import type { ReceivedSpan } from "./otlp-receiver.ts"

const ROW = 18
const TEXT_WIDTH = 520
const BARS_WIDTH = 560
const TOP = 30
const NANOSECONDS = 1e6
const COLOURS: Readonly<Record<string, string>> = {
  apiserver: "#4e79a7",
  "kube-controller-manager": "#f28e2b",
  "kube-scheduler": "#59a14f",
  kubelet: "#e15759",
}

interface Row {
  readonly span: ReceivedSpan
  readonly depth: number
}

/** Draws a trace as SVG: a row for each span that `isShown`, below the nearest shown span that led to it. */
export function tracePicture(spans: readonly ReceivedSpan[], isShown: (span: ReceivedSpan) => boolean): string {
  const rows = rowsOf(spans, isShown)
  const first = Number(
    rows.reduce((least, { span: { start } }) => (start < least ? start : least), rows[0]!.span.start),
  )
  const last = Number(rows.reduce((most, { span: { end } }) => (end > most ? end : most), rows[0]!.span.end))
  const x = (time: bigint) => TEXT_WIDTH + ((Number(time) - first) / (last - first)) * BARS_WIDTH
  const ms = (last - first) / NANOSECONDS
  const height = TOP + rows.length * ROW + 10
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${TEXT_WIDTH + BARS_WIDTH + 20}" height="${height}" font-family="sans-serif" font-size="11">`,
    `<rect width="100%" height="100%" fill="#fff"/>`,
    ...ticks(ms, height),
    ...rows.map(({ span, depth }, row) => drawn(span, depth, TOP + row * ROW, x)),
    "</svg>\n",
  ].join("\n")
}

function rowsOf(spans: readonly ReceivedSpan[], isShown: (span: ReceivedSpan) => boolean): readonly Row[] {
  const ids = new Set(spans.map(({ spanId }) => spanId))
  const children = Map.groupBy(
    spans.toSorted((a, b) => (a.start < b.start ? -1 : 1)),
    ({ parentSpanId }) => (ids.has(parentSpanId) ? parentSpanId : ""),
  )
  const below = (parent: string, depth: number): readonly Row[] =>
    (children.get(parent) ?? []).flatMap((span) =>
      isShown(span) ? [{ span, depth }, ...below(span.spanId, depth + 1)] : below(span.spanId, depth),
    )
  return below("", 0)
}

function drawn(
  { service, name, start, end }: ReceivedSpan,
  depth: number,
  y: number,
  x: (time: bigint) => number,
): string {
  const width = Math.max(1.5, x(end) - x(start))
  const text = escaped(name.replace("/namespaces/{:namespace}", "/…"))
  return (
    `<text x="${8 + depth * 8}" y="${y + 12}">${text}</text>` +
    `<rect x="${x(start).toFixed(1)}" y="${y + 3}" width="${width.toFixed(1)}" height="${ROW - 6}" ` +
    `fill="${COLOURS[service] ?? "#999"}"><title>${service}</title></rect>`
  )
}

const ticks = (ms: number, height: number): readonly string[] =>
  [0, 0.25, 0.5, 0.75, 1].map((part) => {
    const at = TEXT_WIDTH + part * BARS_WIDTH
    return (
      `<line x1="${at}" y1="${TOP - 8}" x2="${at}" y2="${height}" stroke="#ddd"/>` +
      `<text x="${at}" y="${TOP - 12}" text-anchor="middle" fill="#666">${(part * ms).toFixed(1)} ms</text>`
    )
  })

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")
