import { hostEnvironment } from "../../pkg/kubectl/environment/host-environment.ts"
import type { Environment } from "../../pkg/kubectl/environment/environment.ts"
import { runKubectl } from "../../pkg/kubectl/kubectl.ts"
import { buildDate, gitCommit, gitTreeState, GIT_VERSION, KUBERNETES_MINOR } from "../../pkg/version/version.ts"
import type { Completion } from "./cli/complete.ts"

/** The kubeconfig that a server of this machine writes. */
const SERVER_KUBECONFIG = "/etc/k3ts/k3ts.yaml"

/** Runs kubectl with arguments of this process, and resolves with its exit code. */
export const kubectl = (args: readonly string[]): Promise<number> => runKubectl(args, environment())

let host: Environment | undefined

/** The environment of every run in this process: it listens to the process's outputs once. */
const environment = (): Environment =>
  (host ??= hostEnvironment({
    name: "kubectl",
    kubeconfigs: [SERVER_KUBECONFIG],
    version: {
      ...KUBERNETES_MINOR,
      gitVersion: GIT_VERSION,
      gitCommit,
      gitTreeState,
      buildDate,
      goVersion: "",
      compiler: "bun",
      platform: `${process.platform}/${process.arch === "x64" ? "amd64" : process.arch}`,
    },
  }))

/** Bits of a directive of kubectl's completion: no files may follow. */
const NO_FILES = 4

/** Runs kubectl, and returns what it printed. */
export async function kubectlOutput(
  args: readonly string[],
): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  const host = environment()
  const [stdout, stderr] = [collected(host.stdout), collected(host.stderr)]
  const code = await runKubectl(args, { ...host, stdout: stdout.output, stderr: stderr.output })
  return { code, stdout: stdout.text(), stderr: stderr.text() }
}

/** An output that keeps what is written. */
function collected(host: Environment["stdout"]): { readonly output: Environment["stdout"]; text(): string } {
  const decoder = new TextDecoder()
  let text = ""
  const write = (part: string | Uint8Array) => {
    text += typeof part === "string" ? part : decoder.decode(part, { stream: true })
    return Promise.resolve()
  }
  return { output: { ...host, isTerminal: false, write }, text: () => text }
}

/** Proposes words for a command line of kubectl; the last of `words` is being written. */
export async function completeKubectl(words: readonly string[]): Promise<Completion> {
  const { stdout } = await kubectlOutput(["__completeNoDesc", ...words])
  const lines = stdout.trimEnd().split("\n")
  const directive = Number(lines.pop()?.slice(1) ?? "0")
  return { words: lines, files: (directive & NO_FILES) === 0 }
}
