/**
 * Run by hand: `bun test/conformance/kubectl/record.ts KUBECTL KUBECONFIG` runs the commands against a server of
 * Kubernetes and records the expected answers. It writes `answers.json` in this folder, and keeps the answers of other
 * versions of kubectl.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { answersOf, FILE, minorOf, type Recorded } from "./recorded.ts"
import { runCommands } from "./run.ts"

const [kubectl = "kubectl", kubeconfig = ""] = process.argv.slice(2)
const minor = minorOf(kubectl)
const answers = await runCommands(kubectl, kubeconfig)
const before = JSON.parse(readFileSync(FILE, "utf8")) as Recorded[]
const recorded = answers.map(({ command, printed }, i): Recorded => {
  const others = (before[i]?.command === command ? before[i].answers : [])
    .map((answer) => ({ ...answer, kubectl: answer.kubectl.filter((one) => one !== minor) }))
    .filter((answer) => answer.kubectl.length > 0)
  const same = others.find((answer) => answersOf(answer) === answersOf(printed))
  const rest = others.filter((answer) => answer !== same)
  return { command, answers: [{ kubectl: [...(same?.kubectl ?? []), minor].sort(), ...printed }, ...rest] }
})
writeFileSync(FILE, `[\n${recorded.map((one) => JSON.stringify(one)).join(",\n")}\n]\n`)
