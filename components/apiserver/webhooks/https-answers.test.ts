import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { createServer, type Server } from "node:https"
import type { AddressInfo } from "node:net"
import { gzipSync } from "node:zlib"
import { cm, CONFIGMAPS, json, startHttpServer, type Answer } from "../serving/http-server.fixtures.ts"
import { ca, pair } from "./kubeconfig-webhook.fixtures.ts"
import type { AdmissionReview } from "./review.ts"

/** The forms in which a webhook may answer over HTTPS. All expectations are answers of kube-apiserver 1.36.2. */
const CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"

let webhook: Server
let api: Awaited<ReturnType<typeof startHttpServer>>
let reply: (review: AdmissionReview) => { readonly body: string | Buffer; readonly encoding?: string }
/** How this server introduced itself, and which encodings it takes, in its last request. */
let introduced: readonly unknown[] = []

beforeAll(async () => {
  webhook = createServer({ key: pair.keyPem, cert: pair.certPem }, (req, res) => {
    let text = ""
    req.on("data", (part: Buffer) => (text += part.toString()))
    req.on("end", () => {
      introduced = [req.headers["user-agent"], req.headers["accept-encoding"]]
      const { body, encoding } = reply(JSON.parse(text) as AdmissionReview)
      const headers = encoding === undefined ? {} : { "content-encoding": encoding }
      res.writeHead(200, { "content-type": "application/json", connection: "close", ...headers }).end(body)
    })
  })
  await new Promise<void>((resolve) => webhook.listen(0, "127.0.0.1", resolve))
  api = await startHttpServer()
})
afterAll(async () => {
  await api.stop()
  webhook.close()
})

const allowed = ({ request: { uid }, apiVersion }: AdmissionReview, more: object = {}) => ({
  apiVersion,
  kind: "AdmissionReview",
  response: { uid, allowed: true, ...more },
})

let made = 0
/** Creates a ConfigMap while the webhook is configured, and returns the response. */
async function createWith(more: object = {}): Promise<Answer> {
  const name = `w${++made}`
  const webhooks = [
    {
      name: "policy.example.com",
      clientConfig: {
        url: `https://127.0.0.1:${(webhook.address() as AddressInfo).port}/ask`,
        caBundle: Buffer.from(ca.certPem).toString("base64"),
      },
      rules: [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] }],
      sideEffects: "None",
      admissionReviewVersions: ["v1"],
      ...more,
    },
  ]
  expect((await api.call("POST", CONFIGURATIONS, json({ metadata: { name }, webhooks }))).code).toBe(201)
  try {
    return await api.call("POST", CONFIGMAPS, json(cm(name)))
  } finally {
    await api.call("DELETE", `${CONFIGURATIONS}/${name}`)
  }
}
const messageOf = ({ text }: Answer): string => (JSON.parse(text) as { readonly message: string }).message

describe("the answer of a webhook", () => {
  test("may be compressed, and the webhook is told so and who asks", async () => {
    reply = (review) => ({ body: gzipSync(JSON.stringify(allowed(review))), encoding: "gzip" })
    expect((await createWith()).code).toBe(201)
    expect(introduced).toEqual(["kube-apiserver-admission", "gzip"])
  })

  test("must not be larger than allowed once it is unpacked", async () => {
    const body = gzipSync(Buffer.alloc(4 * 1024 * 1024, " "))
    reply = () => ({ body, encoding: "gzip" })
    expect(messageOf(await createWith())).toEndWith(": the answer is larger than 3145728 bytes")
  })

  test("that says it is compressed and is not fails the call", async () => {
    reply = (review) => ({ body: JSON.stringify(allowed(review)), encoding: "gzip" })
    expect(messageOf(await createWith())).toContain("failed to call webhook: Post ")
  })

  test.each([
    {
      form: "YAML",
      written: ({ apiVersion, kind, response: { uid } }: ReturnType<typeof allowed>) =>
        `# yes\napiVersion: ${apiVersion}\nkind: ${kind}\nresponse:\n  uid: ${uid}\n  allowed: true\n`,
    },
    { form: "JSON after a byte order mark", written: (answer: object) => `\ufeff${JSON.stringify(answer)}` },
  ])("may be $form", async ({ written }) => {
    reply = (review) => ({ body: written(allowed(review)) })
    expect((await createWith()).code).toBe(201)
  })

  test.each([
    [{ allowed: "true" }, "string", "allowed of type bool"],
    [{ status: "no" }, "string", "status of type v1.Status"],
    [{ warnings: "w" }, "string", "warnings of type []string"],
    [{ warnings: [1] }, "number", "warnings of type string"],
    [{ auditAnnotations: { a: true } }, "bool", "auditAnnotations of type string"],
  ])("with a value of a wrong type is a failure, and no refusal: %j", async (more, given, what) => {
    // given
    reply = (review) => ({ body: JSON.stringify(allowed(review, more)) })
    // when
    const answers = [await createWith(), await createWith({ failurePolicy: "Ignore" })]
    // then
    expect(answers.map(({ code }) => code)).toEqual([500, 201])
    const field = `AdmissionResponse.response.${what}`
    expect(messageOf(answers[0]!)).toEndWith(
      `failed to call webhook: json: cannot unmarshal ${given} into Go struct field ${field}`,
    )
  })

  test("with a patch that is no base64 is a failure", async () => {
    reply = (review) => ({ body: JSON.stringify(allowed(review, { patch: "%%%", patchType: "JSONPatch" })) })
    expect(messageOf(await createWith())).toEndWith("failed to call webhook: illegal base64 data at input byte 0")
  })

  test.each([
    {
      given: { kind: "Foo" },
      wants:
        'no kind "Foo" is registered for version "admission.k8s.io/v1" in scheme ' +
        '"k8s.io/apiserver/pkg/util/webhook/client.go:71"',
    },
    {
      given: { apiVersion: "admission.k8s.io/v1beta1" },
      wants: "converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion",
    },
    {
      given: { apiVersion: undefined },
      wants: "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=AdmissionReview",
    },
  ])("of another type says which was expected: $given", async ({ given, wants }) => {
    reply = (review) => ({ body: JSON.stringify({ ...allowed(review), ...given }) })
    expect(messageOf(await createWith())).toEndWith(`: ${wants}`)
  })

  test.each([
    ["{}{}", "invalid character '{' after top-level value"],
    ["[1]", "json: cannot unmarshal array into Go value of type "],
  ])("that is no object says why: %s", async (body, why) => {
    reply = () => ({ body })
    expect(messageOf(await createWith())).toContain(
      `failed to call webhook: couldn't get version/kind; json parse error: ${why}`,
    )
  })
})
