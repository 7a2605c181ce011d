/**
 * Compares some three hundred commands of kubectl with what they print with Kubernetes 1.36.2: output, errors and exit
 * codes, without times, ids and addresses. `record.ts` says how `answers.json` was made.
 */
import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { startServer } from "../../harness/server.ts"
import { findKubectls } from "../../kubectls.ts"
import { FILE, minorOf, type Recorded } from "./recorded.ts"
import { COMMANDS, runCommands } from "./run.ts"

/** The answers of k3ts that differ on purpose; docs/compatibility.md has the reasons. */
const OTHERWISE: Readonly<Record<string, string>> = {
  "kubectl get cs": "the parts of one program are not asked over the network",
  "kubectl auth whoami": "the administrator has another name",
}

const recorded = JSON.parse(readFileSync(FILE, "utf8")) as readonly Recorded[]
const known = new Set(recorded.flatMap(({ answers }) => answers.flatMap(({ kubectl }) => kubectl)))
const [newest] = findKubectls()
  .map(([, path]) => ({ path, minor: minorOf(path) }))
  .filter(({ minor }) => known.has(minor))
  .toReversed()
if (newest === undefined)
  console.warn(`!!! SKIPPED: no kubectl ${[...known].join(" or ")}: what commands print is not compared`)

test.skipIf(newest === undefined)(
  "commands have the same output and exit code as with Kubernetes",
  async () => {
    // given a server without the parts that Kubernetes itself lacks, with the Service range of the recorded one
    await using server = await startServer({
      flags: [
        "--disable",
        "controller-manager,scheduler,manifests,local-storage,metrics-server",
        "--service-cidr",
        "10.99.0.0/16",
      ],
    })
    const { path, minor } = newest!
    // when
    const printed = await runCommands(path, server.kubeconfig)
    // then
    const wanted = recorded.map(({ answers }) => answers.find(({ kubectl }) => kubectl.includes(minor)))
    const both = COMMANDS.map((command, i) => {
      const { code, out, err } = wanted[i]!
      return { command, is: printed[i]!.printed, wanted: { code, out, err } }
    })
    const exact = both.filter(({ command }) => !(command in OTHERWISE))
    expect(exact.map(({ command, is }) => ({ command, is }))).toEqual(
      exact.map(({ command, wanted: is }) => ({ command, is })),
    )
    expect(both.filter(({ is, wanted: was }) => !Bun.deepEquals(is, was)).map(({ command }) => command)).toEqual(
      Object.keys(OTHERWISE),
    )
  },
  300_000,
)
