import { expect, test } from "bun:test"
import type { ApiError } from "../../../pkg/apimachinery/errors.ts"
import { Query } from "../call/query.ts"
import { logOptionsOf } from "./log-options.ts"

// Answers of a kube-apiserver 1.36.2 for a pod that does not exist.
test.each([
  ["tailLines=-1", 'PodLogOptions "none" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0'],
  [
    "tailLines=-1&limitBytes=0",
    'PodLogOptions "none" is invalid: [tailLines: Invalid value: -1: must be greater than or equal to 0, limitBytes: Invalid value: 0: must be greater than 0]',
  ],
  ["sinceSeconds=0", 'PodLogOptions "none" is invalid: sinceSeconds: Invalid value: 0: must be greater than 0'],
  [
    "sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z",
    'PodLogOptions "none" is invalid: []: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified',
  ],
  ["tailLines=99999999999999999999", 'strconv.ParseInt: parsing "99999999999999999999": value out of range'],
  ["tailLines=1.5", 'strconv.ParseInt: parsing "1.5": invalid syntax'],
  ["tailLines=", 'strconv.ParseInt: parsing "": invalid syntax'],
  ["sinceTime=x", 'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"'],
])("options %s are refused in upstream's words", (query, message) => {
  let refusal: unknown
  try {
    logOptionsOf(new Query(query), "none")
  } catch (err) {
    refusal = err
  }
  const isUnreadable = message.startsWith("strconv") || message.startsWith("parsing")
  expect(refusal).toMatchObject({
    message,
    reason: isUnreadable ? "BadRequest" : "Invalid",
  } satisfies Partial<ApiError>)
})

test.each([
  ["", {}],
  ["tailLines=%2B1&limitBytes=7&sinceTime=", { tailLines: 1, limitBytes: 7 }],
  ["tailLines=1&tailLines=x", { tailLines: 1 }],
  ["sinceTime=2026-01-01T00:00:00.5Z", { sinceTime: "2026-01-01T00:00:00.5Z" }],
  ["timestamps=1&follow=&previous=0", { timestamps: true, follow: true }],
  ["stream=Stderr", { stream: "Stderr" }],
] as const)("options %s are read", (query, options) => {
  const none = { follow: false, previous: false, timestamps: false }
  expect(logOptionsOf(new Query(query), "one")).toEqual({ ...none, ...options })
})
