import { expect, test } from "bun:test"
import { Buffer } from "node:buffer"
import { request } from "node:https"
import { requestKey, signedRequest } from "../../pkg/pki/request/certificate-request.fixtures.ts"
import { startServer } from "./k3ts.ts"

const ROOT = "/apis/certificates.k8s.io/v1/certificatesigningrequests"

test("an approved client certificate authenticates the user and group that it names", async () => {
  // given a server, and what its administrator may
  await using server = await startServer()
  const send = (method: string, path: string, body: object, identity: object): Promise<Record<string, unknown>> =>
    new Promise((resolve, reject) => {
      const options = { host: "127.0.0.1", port: server.port, path, method, rejectUnauthorized: false, agent: false }
      const sent = request({ ...options, ...identity }, (answer) => {
        const chunks: Buffer[] = []
        answer.on("data", (chunk: Buffer) => chunks.push(chunk))
        answer.on("end", () => resolve(JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>))
      })
      sent.on("error", reject)
      sent.setHeader("content-type", "application/json")
      sent.end(JSON.stringify(body))
    })
  const admin = { headers: { authorization: `Bearer ${server.token}` } }

  // when a request is made and approved
  const made = await send(
    "POST",
    ROOT,
    {
      metadata: { name: "jane" },
      spec: {
        request: signedRequest("jane", "developers"),
        signerName: "kubernetes.io/kube-apiserver-client",
        usages: ["client auth"],
      },
    },
    admin,
  )
  const conditions = [{ type: "Approved", status: "True", reason: "Test" }]
  await send("PUT", `${ROOT}/jane/approval`, { ...made, status: { conditions } }, admin)
  const issued = await server.eventually(`${ROOT}/jane`, (body) => body.includes('"certificate":'))
  const { certificate } = (JSON.parse(issued) as { status: { certificate: string } }).status

  // then the server knows who comes with it
  const identity = { cert: Buffer.from(certificate, "base64"), key: requestKey }
  const self = await send("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, identity)
  expect(self).toMatchObject({
    status: { userInfo: { username: "jane", groups: ["developers", "system:authenticated"] } },
  })
})
