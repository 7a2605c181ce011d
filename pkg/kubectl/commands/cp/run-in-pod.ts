import type { Factory } from "../../factory/factory.ts"
import { findContainer, findOrDefault, notValid } from "../../polymorphic/containers.ts"
import type { Pod } from "../../polymorphic/pod.ts"
import { podHelper } from "../../polymorphic/pods-of.ts"
import type { Output } from "../../printers/output.ts"
import { runSession } from "../../remote/remote-session.ts"
import type { FileSpec } from "./file-spec.ts"

/** One copy: from where to where, and where it says what. */
export interface Copy {
  readonly factory: Factory
  readonly source: FileSpec
  readonly target: FileSpec
  /** Of a pod whose namespace the argument does not name. */
  readonly namespace: string
  /** Empty for the default one. */
  readonly container: string
  readonly out: Output
  readonly errOut: Output
}

/**
 * Runs a command in the pod of a file. Source: kubectl pkg/cmd/exec/exec.go.
 * @throws ExitError with the command's exit code if that is not 0
 */
export async function runInPod(
  copy: Pick<Copy, "factory" | "namespace" | "container">,
  file: FileSpec,
  words: readonly string[],
  streams: { readonly stdin?: AsyncIterable<Uint8Array>; readonly stdout: Output; readonly stderr: Output },
): Promise<void> {
  const { factory, container } = copy
  const namespace = file.namespace === "" ? copy.namespace : file.namespace
  const helper = await podHelper(factory)
  const pod = (await helper.get(namespace, file.pod)) as Pod
  const phase = pod.status?.phase
  if (phase === "Succeeded" || phase === "Failed")
    throw new Error(`cannot exec into a container in a completed pod; current phase is ${phase}`)
  if (container !== "" && findContainer(pod, container) === undefined) throw notValid(container, pod)
  const name = container === "" ? (await findOrDefault(pod, "", false, streams.stderr)).name : container
  const query = {
    container: name,
    command: words,
    stdin: streams.stdin === undefined ? undefined : "true",
    stdout: "true",
    stderr: "true",
  }
  await runSession(factory, helper.path(namespace, file.pod, "exec"), query, {
    stdin: streams.stdin,
    stdout: streams.stdout,
    stderr: streams.stderr,
    terminal: undefined,
  })
}
