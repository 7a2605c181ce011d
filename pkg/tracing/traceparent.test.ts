import { expect, test } from "bun:test"
import { formatTraceparent, parseTraceparent } from "./traceparent.ts"

const TRACE = "0af7651916cd43dd8448eb211c80319c"
const SPAN = "b7ad6b7169203331"
const named = (traceFlags: number) => ({ traceId: TRACE, spanId: SPAN, traceFlags, isRemote: true })

const HEADERS = [
  { title: "a sampled span", given: `00-${TRACE}-${SPAN}-01`, wants: named(1) },
  { title: "a span that is not sampled", given: `00-${TRACE}-${SPAN}-00`, wants: named(0) },
  { title: "flags that this version does not know", given: `00-${TRACE}-${SPAN}-03`, wants: named(1) },
  {
    title: "a later version with more fields",
    given: `cc-${TRACE}-${SPAN}-01-what-the-future-brings`,
    wants: named(1),
  },
  { title: "version 00 with more fields", given: `00-${TRACE}-${SPAN}-01-more`, wants: undefined },
  { title: "the version that is forbidden", given: `ff-${TRACE}-${SPAN}-01`, wants: undefined },
  { title: "a trace id of zeros", given: `00-${"0".repeat(32)}-${SPAN}-01`, wants: undefined },
  { title: "a span id of zeros", given: `00-${TRACE}-${"0".repeat(16)}-01`, wants: undefined },
  { title: "capitals", given: `00-${TRACE.toUpperCase()}-${SPAN}-01`, wants: undefined },
  { title: "a header of many characters", given: `cc-${TRACE}-${SPAN}-01-${"x".repeat(1000)}`, wants: undefined },
  { title: "several headers", given: [`00-${TRACE}-${SPAN}-01`, `00-${TRACE}-${SPAN}-00`], wants: undefined },
  { title: "no header", given: undefined, wants: undefined },
]
for (const { title, given, wants } of HEADERS)
  test(`traceparent: ${title}`, () => {
    expect(parseTraceparent(given)).toEqual(wants)
    if (wants !== undefined) expect(formatTraceparent(wants)).toBe(`00-${TRACE}-${SPAN}-0${wants.traceFlags}`)
  })
