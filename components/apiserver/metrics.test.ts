import { expect, test } from "bun:test"
import { STATUS_CODES } from "node:http"
import { seededRandom } from "../../pkg/clock/random.ts"
import { Registry } from "../../pkg/metrics/registry.ts"
import { requestInfo } from "./call/request-info.ts"
import { createServerMetrics } from "./metrics.ts"

const answered = (method: string, url: string, more: { isServed?: boolean; isApply?: boolean; code?: number } = {}) => {
  const registry = new Registry()
  const info = requestInfo(method, url)
  createServerMetrics(registry).answered({
    info,
    isServed: true,
    isApply: false,
    code: 200,
    seconds: 0,
    waitedSeconds: 0,
    isTerminated: false,
    bytes: 0,
    ...more,
  })
  return /^apiserver_request_total\{(.*)\} 1$/m
    .exec(registry.text())![1]!
    .split(",")
    .filter((label) => !label.endsWith('=""') && !label.startsWith("component="))
    .map((label) => label.replaceAll('"', ""))
    .join(" ")
}

test.each([
  {
    method: "GET",
    url: "/api/v1/namespaces/a/pods/b",
    labels: "code=200 resource=pods scope=resource verb=GET version=v1",
  },
  {
    method: "GET",
    url: "/api/v1/namespaces/a/pods",
    labels: "code=200 resource=pods scope=namespace verb=LIST version=v1",
  },
  { method: "GET", url: "/api/v1/pods?watch=1", labels: "code=200 resource=pods scope=cluster verb=WATCH version=v1" },
  {
    method: "POST",
    url: "/api/v1/namespaces/a/pods?dryRun=All",
    labels: "code=200 dry_run=All resource=pods scope=resource verb=POST version=v1",
  },
  {
    method: "POST",
    url: "/api/v1/namespaces/a/pods/b/exec",
    labels: "code=200 resource=pods scope=resource subresource=exec verb=CONNECT version=v1",
  },
  { method: "GET", url: "/version", labels: "code=200 verb=GET" },
  { method: "PURGE", url: "/version", labels: "code=200 verb=other" },
])("$method $url is counted as $labels", ({ method, url, labels }) => {
  expect(answered(method, url)).toBe(labels)
})

test("a server-side apply is counted separately from other patches", () => {
  expect(answered("PATCH", "/apis/apps/v1/namespaces/a/deployments/b", { isApply: true })).toContain("verb=APPLY")
})

test("requests that are not served or not allowed add no label values to the metrics", () => {
  expect(answered("GET", "/apis/x.test/v9/namespaces/a/things/b/part", { isServed: false, code: 403 })).toBe(
    "code=403 verb=GET",
  )
})

test("unknown HTTP codes are counted by their first digit", () => {
  expect(answered("GET", "/api/v1/namespaces/a/pods/b/proxy", { code: 799 })).toContain("code=7xx")
})

test("the number of series is bounded, whatever the requests and responses are", () => {
  // given requests of all sorts, served ones only for what there is
  const random = seededRandom(1)
  const one = <T>(of: readonly T[]): T => of[Math.floor(random.next() * of.length)]!
  const word = () => Math.floor(random.next() * 2 ** 40).toString(36)
  const registry = new Registry()
  const metrics = createServerMetrics(registry)
  const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PURGE", "M-SEARCH", "PROPFIND"]
  const served = ["pods", "pods/b/proxy", "pods/b", "pods/b/status"]

  // when there are very many
  for (let i = 0; i < 20_000; i++) {
    const isServed = random.next() < 0.5
    const path = isServed
      ? `/api/v1/namespaces/${word()}/${one(served)}`
      : one([`/${word()}`, `/apis/${word()}/${word()}/${word()}/${word()}/${word()}`, `/api/v1/${word()}`])
    metrics.answered({
      info: requestInfo(one(methods), `${path}?dryRun=${word()}&x=${word()}`),
      isServed,
      isApply: isServed && random.next() < 0.1,
      code: 100 + Math.floor(random.next() * 900),
      seconds: 0,
      waitedSeconds: 0,
      isTerminated: random.next() < 0.5,
      bytes: 1,
    })
  }

  // then there are no more series than codes × verbs × what is served
  const series = registry.text().match(/^apiserver_request_total\{.*$/gm)!
  const verbs = 11
  expect(series.length).toBeLessThanOrEqual((Object.keys(STATUS_CODES).length + 9) * verbs * (served.length + 1))
})

test("the counters of declarative validation are there, at 0", () => {
  const { registry } = createServerMetrics()
  for (const what of ["mismatch", "panic"])
    expect(registry.text()).toContain(`\napiserver_validation_declarative_validation_${what}_total 0\n`)
})
