/**
 * Asks a real API server of Kubernetes for its verdict on every case of test/conformance/judged-custom-resources, and
 * writes the verdicts to the fixture of that test.
 *
 *     bun hack/compare/record-custom-resources.ts --server https://127.0.0.1:6443 --token TOKEN
 *
 * The definitions are cluster-wide, in a group of their own, and deleted in the end. The server's certificate is not
 * checked.
 */
import { parseArgs } from "node:util"
import { record, verdictsOf } from "../../test/conformance/judged-custom-resources/verdicts.ts"

const { values } = parseArgs({ options: { server: { type: "string" }, token: { type: "string" } } })
const { server, token } = values
if (server === undefined || token === undefined) {
  console.error("usage: bun hack/compare/record-custom-resources.ts --server URL --token TOKEN")
  process.exit(2)
}

const verdicts = await verdictsOf(async (method, path, body, type = "application/json") => {
  const response = await fetch(server + path, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body === undefined ? {} : { "content-type": type }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    tls: { rejectUnauthorized: false },
  })
  const text = await response.text()
  // A group that is not there yet is answered with plain text.
  return { code: response.status, body: text.startsWith("{") ? (JSON.parse(text) as unknown) : { message: text } }
})
record(verdicts)
console.log(`${verdicts.length} verdicts are recorded`)
