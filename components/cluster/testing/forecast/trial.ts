/** Tries what `k3ts why` names as a mend, in copies of the cluster. */
import { formatDuration } from "../../../../pkg/apimachinery/scalars/time.ts"
import { nameOf, type Answer, type ObjectRef, type State, type Trial } from "../../../../pkg/why/answer.ts"
import type { Cluster } from "../cluster.ts"
import type { SnapshotContent } from "../snapshot.ts"
import { SETTLING } from "./forecast.ts"
import { startFork } from "./fork.ts"

/** What was asked, and what came of it. */
export interface Question {
  readonly answer: Answer
  /** Further flags of `kubectl why`, such as `--from`. */
  readonly flags: readonly string[]
}

/** After how many seconds it is asked again whether the object is well. */
const LOOKS = [1, 2, 3, 5, 8, 12, 20, 30, 45, 60, 90, 120, 180, 300, 600]

/** After how many further seconds what is well must still be so: what crashes is well for a moment. */
const STAYS = [5, 15, 40, 120]

/**
 * Causes that the copy shows because its containers and images do what those of the cluster have done: a mend that lets
 * programs do something else changes nothing there. So do causes outside of the cluster, and those by what a copy has
 * not, such as the controllers that write the conditions of custom resources and routes.
 */
const REPEATED =
  /^(condition$|controller-behind|image-|registry-|exits-|ended-by-|command-|oom-|.*-probe|right-|permission-|read-only-|address-in-use|start-failed|hook-failed|not-ready|pod-not-ready|job-failed|job-out-of-retries|job-pod-failure|webhook-|apiservice-|provision|csi-|load-balancer-|ingress-pending|autoscaler-metrics|dns-|name-not-found|signer-|gateway-|certificate-|rollout-stuck|credentials-|file-|open-files-|heap-|variable-|connection-scheme|interpreter-|user-missing|working-directory|token-|port-not-allowed|no-disk-space|security-profile-)/

/** Returns what the command of a mend does in a copy of the cluster: a command line of kubectl, or several with `&&`. */
export async function tryMend(content: SnapshotContent, question: Question, command: string): Promise<Trial> {
  const commands = command.split(" && ")
  if (!commands.every((one) => one.startsWith("kubectl ")))
    return { verdict: "not-known", says: "it is no command of kubectl" }
  return inCopy(content, async (copy) => {
    const [cause] = question.answer.findings
    const before = await askIn(copy, question)
    if (before === undefined || before.findings[0]?.cause.code !== cause?.cause.code)
      return { verdict: "not-known", says: "what is wrong is not so in the copy" }
    for (const one of commands) {
      const { code, stderr } = await copy.kubectl(one.slice("kubectl ".length))
      if (code !== 0) return { verdict: "does-not-help", says: `it fails: ${lastLine(stderr)}` }
    }
    const owner = await topOwner(copy, question.answer.object)
    const seen = await untilWell(copy, question, owner, LOOKS.at(-1)!)
    const name = nameOf(question.answer.object)
    if (seen.after === undefined) return stillUnwell(name, seen.answer)
    const without = await inCopy(content, (other) => untilWell(other, question, owner, seen.after!))
    const within = formatDuration(seen.after * 1000)
    return without.after === undefined
      ? { verdict: "helps", says: `${name} is well within ${within}` }
      : { verdict: "not-known", says: `${name} is well there within ${within}, but also without it` }
  })
}

function stillUnwell(name: string, answer: Answer | undefined): Trial {
  const [first] = answer?.findings ?? []
  if (first === undefined) return { verdict: "not-known", says: `${name} is not well there, and why is not known` }
  const { code, message } = first.cause
  return REPEATED.test(code)
    ? {
        verdict: "not-known",
        says: `programs, registries and what is outside do there what they have done: ${message}`,
      }
    : {
        verdict: "does-not-help",
        says: `${name} is not well there after ${formatDuration(LOOKS.at(-1)! * 1000)}: ${message}`,
      }
}

async function inCopy<T>(content: SnapshotContent, work: (copy: Cluster) => Promise<T>): Promise<T> {
  const { cluster } = await startFork(content, { seed: 1 })
  try {
    await cluster.advance(SETTLING)
    return await work(cluster)
  } finally {
    // A copy that is not well may not end cleanly, which is nobody's fault.
    await cluster.stop().catch(() => undefined)
  }
}

/** Lets time pass until the object is well and stays so; `owner` is asked about in its place when it is gone. */
async function untilWell(
  copy: Cluster,
  question: Question,
  owner: ObjectRef,
  seconds: number,
): Promise<{ readonly after?: number; readonly answer?: Answer | undefined }> {
  const aboutOwner = { ...question, answer: { ...question.answer, object: owner } }
  const look = async () => (await askIn(copy, question)) ?? (await askIn(copy, aboutOwner))
  let [answer, passed] = [await look(), 0]
  for (const after of LOOKS) {
    if (after > seconds) break
    if (after <= passed) continue
    await copy.advance(`${after - passed}s`)
    passed = after
    answer = await look()
    for (const more of answer?.state === "healthy" ? STAYS : []) {
      await copy.advance(`${more}s`)
      passed += more
      answer = await look()
      if (answer?.state !== "healthy") break
    }
    if (answer?.state === "healthy") return { after, answer }
  }
  return { answer }
}

async function askIn(
  copy: Cluster,
  { answer, flags }: Question,
): Promise<(Answer & { readonly state: State }) | undefined> {
  const { stdout } = await copy.kubectl(["why", ...wordsOf(answer.object), ...flags, "-o=json"])
  return stdout === "" ? undefined : (JSON.parse(stdout) as Answer & { readonly state: State })
}

const wordsOf = ({ apiVersion, kind, name, namespace }: ObjectRef): readonly string[] => {
  const group = apiVersion.includes("/") ? `.${apiVersion.split("/")[0]}` : ""
  return [`${kind.toLowerCase()}${group}/${name}`, ...(namespace === undefined ? [] : [`--namespace=${namespace}`])]
}

interface Owned {
  readonly metadata: {
    readonly ownerReferences?: readonly {
      readonly apiVersion: string
      readonly kind: string
      readonly name: string
      readonly controller?: boolean
    }[]
  }
}

/** Returns the object at the top of the chain of controllers; the object itself where none owns it. */
async function topOwner(copy: Cluster, object: ObjectRef): Promise<ObjectRef> {
  const { code, stdout } = await copy.kubectl(["get", ...wordsOf(object), "-o=json"])
  const owner =
    code === 0
      ? (JSON.parse(stdout) as Owned).metadata.ownerReferences?.find(({ controller }) => controller === true)
      : undefined
  if (owner === undefined) return object
  const { apiVersion, kind, name } = owner
  return topOwner(copy, { ...object, apiVersion, kind, name })
}

const lastLine = (text: string): string => text.trim().split("\n").at(-1) ?? ""
