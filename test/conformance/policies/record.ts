/**
 * Sends the cases to another API server, which must be newly installed, and records its answers for `policies.test.ts`:
 * `NODE_TLS_REJECT_UNAUTHORIZED=0 bun test/conformance/policies/record.ts https://127.0.0.1:6443 TOKEN`.
 */
import { answersTo } from "./answers.ts"
import { CASES } from "./cases.ts"
import { writeFixture } from "./fixture.ts"

const [server = "", token = ""] = process.argv.slice(2)

/** The API server of Kubernetes needs some seconds to learn of policies and of the schemas of new definitions. */
const SETTLED_MS = 15_000

const answers = await answersTo(
  async ({ method, path, body }) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }
    const response = await fetch(server + path, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const warning = response.headers.get("warning")
    return { code: response.status, body: await response.json(), warnings: warning === null ? [] : [warning] }
  },
  CASES,
  () => Bun.sleep(SETTLED_MS),
)
writeFixture(answers)
console.log(`${answers.size} answers kept`)
