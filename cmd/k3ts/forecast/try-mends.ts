import { tryMend } from "../../../components/cluster/testing/forecast/trial.ts"
import type { Answer, State, Trial } from "../../../pkg/why/answer.ts"
import { pushAll } from "../../../pkg/lists/push-all.ts"
import { answerText } from "../../../pkg/why/text.ts"
import { withTrials } from "../../../pkg/why/trials.ts"
import { UsageError } from "../cli/usage-error.ts"
import { kubectlOutput } from "../run-kubectl.ts"
import { readCluster } from "./source.ts"

/** Flags of `kubectl why` that say what is asked and how it is answered; all others say how the cluster is reached. */
const OWN: ReadonlySet<string> = new Set(["-n", "--namespace", "-o", "--output", "--from", "--port"])
/** Of these, those that are part of the question. */
const ASKED: ReadonlySet<string> = new Set(["--from", "--port"])
/** Flags of kubectl that are there or not, and so have no value behind them. */
const SWITCHES: ReadonlySet<string> = new Set([
  "--insecure-skip-tls-verify",
  "--match-server-version",
  "--warnings-as-errors",
])

/** What a command line of `k3ts why --try` says. */
export interface TriedQuestion {
  readonly words: readonly string[]
  readonly isJson: boolean
  /** Flags that are part of the question, beside the namespace. */
  readonly asked: readonly string[]
  /** Flags by which the cluster is reached. */
  readonly reaching: readonly string[]
  /** Without those of the output. */
  readonly all: readonly string[]
}

/** Reads a command line, without `--try`. @throws UsageError where it names no object */
export function triedQuestion(argv: readonly string[]): TriedQuestion {
  const [words, asked, reaching, all]: string[][] = [[], [], [], []]
  let isJson = false
  for (let i = 0; i < argv.length; i++) {
    const arg = argv[i]!
    if (!arg.startsWith("-")) {
      words!.push(arg)
      all!.push(arg)
      continue
    }
    const name = arg.startsWith("--") ? arg.split("=", 1)[0]! : arg.slice(0, 2)
    const hasValue = arg.includes("=") || (!arg.startsWith("--") && arg.length > 2) || SWITCHES.has(name)
    const flag = hasValue || i + 1 === argv.length ? [arg] : [arg, argv[++i]!]
    if (name === "-o" || name === "--output") isJson = flag.at(-1)!.endsWith("json")
    else pushAll(all!, flag)
    if (ASKED.has(name)) pushAll(asked!, flag)
    else if (!OWN.has(name)) pushAll(reaching!, flag)
  }
  if (words!.length === 0) throw new UsageError("name an object whose mends are tried: k3ts why --try KIND/NAME")
  return { words: words!, isJson, asked: asked!, reaching: reaching!, all: all! }
}

/** Answers `k3ts why --try`: asks the cluster, and tries each mend in a copy of it. Returns the exit code. */
export async function whyAndTry(argv: readonly string[], print: (text: string) => void): Promise<number> {
  const question = triedQuestion(argv)
  const { code, stdout, stderr } = await kubectlOutput(["why", ...question.all, "-o=json"])
  process.stderr.write(stderr)
  if (stdout === "") return code
  const answer = JSON.parse(stdout) as Answer & { readonly state: State }
  const commands = new Set(answer.findings.flatMap(({ mends }) => mends.map(({ command }) => command)))
  const trials = new Map<string, Trial>()
  if (commands.size > 0) {
    const { content, left } = await readCluster(question.reaching)
    for (const text of left) process.stderr.write(`k3ts: not in the copy: ${text}\n`)
    for (const command of commands)
      trials.set(command, await tryMend(content, { answer, flags: question.asked }, command))
  }
  const tried = withTrials(answer, ({ command }) => trials.get(command))
  print(question.isJson ? `${JSON.stringify({ ...tried, state: answer.state }, undefined, 2)}\n` : answerText(tried))
  return code
}
