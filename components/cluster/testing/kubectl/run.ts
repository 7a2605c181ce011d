import { Buffer } from "node:buffer"
import type { ClientVersion, Environment } from "../../../../pkg/kubectl/environment/environment.ts"
import { Interrupted } from "../../../../pkg/kubectl/environment/environment.ts"
import { UTC } from "../../../../pkg/kubectl/environment/time-zone.ts"
import type { ProgramOptions, ProgramResult } from "../../../../pkg/kubectl/environment/programs.ts"
import { runKubectl } from "../../../../pkg/kubectl/kubectl.ts"
import { kubeconfigYaml } from "../../../../pkg/pki/kubeconfig.ts"
import { buildDate, gitCommit, gitTreeState, GIT_VERSION, KUBERNETES_MINOR } from "../../../../pkg/version/version.ts"
import type { ClusterParts } from "../cluster-parts.ts"
import type { Driver } from "../time/driver.ts"
import { Waits } from "./driven-environment.ts"
import { inProcessConnect } from "./in-process-http.ts"
import { MemoryFiles } from "./memory-files.ts"
import { wordsOf } from "./words.ts"

/** What a run of kubectl gets beside its arguments. */
export interface KubectlOptions {
  /** What the command reads from its input. */
  readonly stdin?: string | Uint8Array
  /** The files that it finds, by their paths: `{ "web.yaml": "…" }`. Nothing else is there. */
  readonly files?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
  /** Edits a text, for `kubectl edit`. */
  readonly editor?: (text: string, path: string) => string | Promise<string>
  /** Any other program that the command runs, for instance `diff`: returns what it prints, and its exit code. */
  readonly program?: (name: string, args: readonly string[]) => { readonly code?: number; readonly stdout?: string }
  /** Ends the command as Ctrl-C does. */
  readonly signal?: AbortSignal
}

/** What a run of kubectl needs of a cluster. */
export interface KubectlParts extends Pick<ClusterParts, "assembly" | "clock" | "random"> {
  readonly driver: Pick<Driver, "ended" | "runsBeside">
}

/** How a run of kubectl ended. */
export interface KubectlResult {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
  /** All files that are there at the end, but those below ~/.kube. */
  readonly files: Readonly<Record<string, string>>
}

const HOME = "/home/user"
const KUBE = `${HOME}/.kube`
const KUBECONFIG = `${HOME}/.kube/config`
/** Where kubectl remembers what a server has. */
const CACHE = `${HOME}/.kube/cache`
/** The files of the last run on a cluster: the next one needs not ask again what the server has. */
const LAST_FILES = new WeakMap<object, MemoryFiles>()
const EDITOR = "editor-of-the-test"

const VERSION: ClientVersion = {
  ...KUBERNETES_MINOR,
  gitVersion: GIT_VERSION,
  gitCommit,
  gitTreeState,
  buildDate,
  goVersion: "",
  compiler: "bun",
  platform: "linux/amd64",
}

/**
 * Runs kubectl as the administrator of the cluster: in this process, without sockets, on the cluster's clock. `ended`
 * is called with its files.
 */
export async function kubectlOn(
  { assembly, clock, driver, random }: KubectlParts,
  command: string | readonly string[],
  options: KubectlOptions,
  ended?: (files: MemoryFiles) => Promise<void>,
): Promise<KubectlResult> {
  const words = typeof command === "string" ? wordsOf(command) : command
  const waits = new Waits(driver, words.join(" "))
  const over = driver.runsBeside(() => waits.isRunning)
  const files = new MemoryFiles(clock, HOME)
  const before = LAST_FILES.get(assembly)
  if (before !== undefined) files.adopt(CACHE, before)
  LAST_FILES.set(assembly, files)
  const { adminToken: token } = assembly.apiServer.files!
  files.put(
    KUBECONFIG,
    kubeconfigYaml({ server: "https://k3ts-testing:6443", caPem: "", user: { token }, name: "k3ts-testing" }),
  )
  for (const [path, text] of Object.entries(options.files ?? {})) files.put(path, text)
  const [stdout, stderr] = [new Collected(), new Collected()]
  const interrupt = new AbortController()
  const onAbort = () => interrupt.abort(new Interrupted())
  if (options.signal?.aborted === true) onAbort()
  options.signal?.addEventListener("abort", onAbort, { once: true })
  const environment: Environment = {
    name: "kubectl",
    version: VERSION,
    variables: { HOME, ...(options.editor === undefined ? {} : { KUBE_EDITOR: EDITOR }), ...options.env },
    stdin: { isTerminal: false, setRaw: () => undefined, [Symbol.asyncIterator]: () => once(options.stdin ?? "") },
    stdout,
    stderr,
    files,
    processId: 1,
    cwd: HOME,
    home: HOME,
    kubeconfigs: [KUBECONFIG],
    clock: waits.clock(clock),
    zone: UTC,
    random,
    programs: {
      run: (program) => waits.codeOfTest(() => runProgram(program, files, options)),
      find: (name) => Promise.resolve(name === EDITOR ? name : undefined),
    },
    connect: waits.connect(inProcessConnect(() => assembly.apiServer.server)),
    interrupt: interrupt.signal,
    handledInterrupt: interrupt.signal,
  }
  try {
    const code = await runKubectl(words, environment)
    if (waits.failure !== undefined) throw waits.failure
    await ended?.(files)
    return { code, stdout: stdout.text, stderr: stderr.text, files: files.texts(KUBE) }
  } finally {
    over()
    options.signal?.removeEventListener("abort", onAbort)
  }
}

/** An output that keeps what is written. */
class Collected {
  readonly isTerminal = false
  readonly #parts: Buffer[] = []

  write(text: string | Uint8Array): Promise<void> {
    this.#parts.push(Buffer.from(text as string))
    return Promise.resolve()
  }

  size(): undefined {
    return undefined
  }

  onResize(): () => void {
    return () => undefined
  }

  get text(): string {
    return Buffer.concat(this.#parts).toString()
  }
}

async function* once(text: string | Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  if (text.length > 0) yield await Promise.resolve(Buffer.from(text as string))
}

async function runProgram(
  { command, args }: ProgramOptions,
  files: MemoryFiles,
  { editor, program }: KubectlOptions,
): Promise<ProgramResult> {
  const path = args.at(-1)
  if (editor !== undefined && command.includes(EDITOR) && path !== undefined) {
    await files.write(path, await editor(Buffer.from(await files.read(path)).toString(), path))
    return { code: 0, stdout: "", stderr: "" }
  }
  if (program === undefined) throw Object.assign(new Error(`there is no program ${command}`), { code: "ENOENT" })
  const { code = 0, stdout = "" } = program(command, args)
  return { code, stdout, stderr: "" }
}
