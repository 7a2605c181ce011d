/**
 * Runs the exchanges of `protobuf.test.ts` against another API server, and records its answers:
 * `bun test/conformance/protobuf/record.ts https://127.0.0.1:6443 TOKEN`.
 */
import { ALL_BASES, nameOf } from "./bases.ts"
import { exchangesOf, type Outcome } from "./exchanges.ts"
import { writeFixture } from "./fixture.ts"
import { prepared, serverAt } from "./server.ts"

const [url, token] = process.argv.slice(2)
if (url === undefined || token === undefined) {
  console.error("usage: bun test/conformance/protobuf/record.ts URL TOKEN")
  process.exit(2)
}
const server = await prepared(serverAt(url, token))
const outcomes = new Map<string, Outcome>()
for (const [n, base] of ALL_BASES.entries()) outcomes.set(nameOf(base), await exchangesOf(server, base, n))
writeFixture(outcomes)
console.log(
  `${outcomes.size} objects, ${[...outcomes.values()].flatMap(({ verdicts }) => Object.keys(verdicts)).length} answers`,
)
