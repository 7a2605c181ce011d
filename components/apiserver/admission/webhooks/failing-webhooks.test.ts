import { afterAll, beforeAll, expect, test } from "bun:test"
import type { Logger } from "../../../../pkg/log/log.ts"
import { cm, CONFIGMAPS, json, startHttpServer } from "../../serving/http-server.fixtures.ts"
import { WebhookCallError } from "../../webhooks/webhook-caller.ts"

/** The fields of each warning. */
const lines: Readonly<Record<string, unknown>>[] = []
const log: Logger = {
  debug: () => undefined,
  info: () => undefined,
  error: (message) => lines.push({ message }),
  warn: (message, fields) => lines.push({ message, ...fields }),
  child: () => log,
}
let api: Awaited<ReturnType<typeof startHttpServer>>

beforeAll(async () => {
  const failing = { call: () => Promise.reject(new WebhookCallError("connection refused")) }
  api = await startHttpServer({ webhooks: () => failing }, undefined, log)
})
afterAll(() => api.stop())

test.each([
  { failurePolicy: "Ignore", message: "A webhook failed and was ignored", code: 201 },
  { failurePolicy: "Fail", message: "A webhook failed, and requests with it", code: 500 },
])("a webhook that fails at every request is told of once, with failurePolicy $failurePolicy", async (row) => {
  // given
  const { failurePolicy, message, code } = row
  const at = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
  const name = failurePolicy.toLowerCase()
  const webhook = {
    name: "policy.example.com",
    clientConfig: { url: "https://webhook.example" },
    rules: [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] }],
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
    failurePolicy,
  }
  expect((await api.call("POST", at, json({ metadata: { name }, webhooks: [webhook] }))).code).toBe(201)
  lines.length = 0
  // when
  for (let i = 0; i < 20; i++) expect((await api.call("POST", CONFIGMAPS, json(cm(`${name}${i}`)))).code).toBe(code)
  await api.call("DELETE", `${at}/${name}`)
  // then
  const error = "failed to call webhook: connection refused"
  expect(lines).toEqual([{ message, webhook: "policy.example.com", configuration: name, error, times: 1 }])
  // and metrics have the number
  const { text } = await api.call("GET", "/metrics")
  const series =
    failurePolicy === "Ignore"
      ? 'apiserver_admission_webhook_fail_open_count{name="policy.example.com",type="validating"} 20'
      : 'apiserver_admission_webhook_rejection_count{error_type="calling_webhook_error",name="policy.example.com",operation="CREATE",rejection_code="503",type="validating"} 20'
  expect(text.split("\n").filter((line) => line === series)).toHaveLength(1)
})
