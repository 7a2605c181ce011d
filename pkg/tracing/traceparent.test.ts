import { expect, test } from "bun:test"
import { formatTraceparent, parseTraceparent } from "./traceparent.ts"

const TRACE = "0af7651916cd43dd8448eb211c80319c"
const SPAN = "b7ad6b7169203331"
const named = (traceFlags: number) => ({ traceId: TRACE, spanId: SPAN, traceFlags, isRemote: true })

const HEADERS = [
  { title: "a sampled span is accepted", given: `00-${TRACE}-${SPAN}-01`, wants: named(1) },
  { title: "a span that is not sampled is accepted", given: `00-${TRACE}-${SPAN}-00`, wants: named(0) },
  { title: "unknown flags are accepted", given: `00-${TRACE}-${SPAN}-03`, wants: named(1) },
  {
    title: "a later version with more fields is accepted",
    given: `cc-${TRACE}-${SPAN}-01-what-the-future-brings`,
    wants: named(1),
  },
  { title: "version 00 with more fields is refused", given: `00-${TRACE}-${SPAN}-01-more`, wants: undefined },
  { title: "the forbidden version is refused", given: `ff-${TRACE}-${SPAN}-01`, wants: undefined },
  { title: "a trace id of zeros is refused", given: `00-${"0".repeat(32)}-${SPAN}-01`, wants: undefined },
  { title: "a span id of zeros is refused", given: `00-${TRACE}-${"0".repeat(16)}-01`, wants: undefined },
  { title: "capital letters are refused", given: `00-${TRACE.toUpperCase()}-${SPAN}-01`, wants: undefined },
  {
    title: "a header that is too long is refused",
    given: `cc-${TRACE}-${SPAN}-01-${"x".repeat(1000)}`,
    wants: undefined,
  },
  {
    title: "several headers are refused",
    given: [`00-${TRACE}-${SPAN}-01`, `00-${TRACE}-${SPAN}-00`],
    wants: undefined,
  },
  { title: "no header gives no parent", given: undefined, wants: undefined },
]
for (const { title, given, wants } of HEADERS)
  test(`traceparent: ${title}`, () => {
    expect(parseTraceparent(given)).toEqual(wants)
    if (wants !== undefined) expect(formatTraceparent(wants)).toBe(`00-${TRACE}-${SPAN}-0${wants.traceFlags}`)
  })
