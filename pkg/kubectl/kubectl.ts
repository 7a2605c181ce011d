/**
 * kubectl: all that a run uses is in its `Environment`, so it runs as a program and in a test. How a command is added is
 * in docs/kubectl.md.
 */
import { errorMessage } from "../errors/error-message.ts"
import { uuid } from "../clock/random.ts"
import { command, nameOf, type Command, type CommandEntry, type Invocation } from "./command/command.ts"
import { findCommand, unknownCommand, withoutFlags, type Found } from "./command/find.ts"
import type { Flag } from "./command/flag.ts"
import { globalFlags, type GlobalFlags, type GlobalValues } from "./command/global-flags.ts"
import { flagsText, helpOf } from "./command/help.ts"
import { parseFlags, type ParsedFlags } from "./command/parse.ts"
import { helpWidth, wrapWords } from "./command/wrap.ts"
import { COMMANDS, GROUPS } from "./commands/commands.ts"
import { BrokenPipe, Interrupted, type Environment, type OutputStream } from "./environment/environment.ts"
import { ExitError, SilentExit } from "./errors/errors.ts"
import { reportOf } from "./errors/report.ts"
import { defaultCacheDir, Factory } from "./factory/factory.ts"
import { pluginFor } from "./plugins.ts"
import type { Preferred } from "./preferences/apply.ts"
import { kubercFlag, kubercPath } from "./preferences/kuberc-path.ts"
import type { PluginPolicy } from "./preferences/preference.ts"
import { quietOutput, type Output } from "./printers/output.ts"
import { Log } from "./rest/log.ts"
import { Warnings } from "./rest/warnings.ts"

/** The exit code of a program that wrote where nobody reads: 128 and the number of SIGPIPE. */
const BROKEN_PIPE = 141

/** Words that no plugin replaces, though they are no commands of the list. */
const BUILT_IN = ["help", "__complete", "__completeNoDesc"]

const rootWith = (commands: readonly CommandEntry[]): Command =>
  command({
    use: "kubectl",
    short: "kubectl controls the Kubernetes cluster manager",
    long: "kubectl controls the Kubernetes cluster manager.\n\n Find more information at: https://kubernetes.io/docs/reference/kubectl/",
    commands,
    run: ({ help, out }) => out.write(help()),
  })

/** Runs one command line and resolves with the exit code. */
export async function runKubectl(args: readonly string[], environment: Environment): Promise<number> {
  const errOut = quietOutput(environment.stderr)
  const reader = Promise.withResolvers<never>()
  const out = endingWithReader(environment.stdout, reader.reject)
  try {
    await Promise.race([new Run(environment, out).run(args), reader.promise])
    return 0
  } catch (err) {
    if (err instanceof BrokenPipe) return BROKEN_PIPE
    if (err instanceof Interrupted) return 1
    const { text, code } = reportOf(err)
    if (text !== "") await errOut.write(text.endsWith("\n") ? text : `${text}\n`)
    return code
  }
}

/**
 * Returns an output that stops whoever writes to it when its reader has gone, as SIGPIPE stops upstream's program:
 * commands go on after other errors.
 */
const endingWithReader = (output: OutputStream, gone: (err: BrokenPipe) => void): OutputStream => ({
  isTerminal: output.isTerminal,
  size: () => output.size(),
  onResize: (changed) => output.onResize(changed),
  async write(text) {
    try {
      await output.write(text)
    } catch (err) {
      if (!(err instanceof BrokenPipe)) throw err
      gone(err)
      await new Promise(() => {})
    }
  },
})

class Run {
  readonly #environment: Environment
  readonly #out: OutputStream
  readonly #globals: GlobalFlags
  readonly #root: Command
  readonly #hasPreferences: boolean
  /** The command line that the preferences have made, if they have changed it. */
  #original: string | undefined
  /** Which programs may give credentials, by the preferences. */
  #pluginPolicy: PluginPolicy | undefined

  constructor(environment: Environment, out: OutputStream) {
    this.#environment = environment
    this.#out = out
    const kuberc = environment.variables["KUBECTL_KUBERC"]?.toLowerCase() !== "false"
    this.#hasPreferences = kuberc
    this.#root = rootWith(kuberc ? COMMANDS : COMMANDS.filter(({ name }) => name !== "kuberc"))
    this.#globals = globalFlags({ cacheDir: defaultCacheDir(environment), kuberc })
  }

  async run(given: readonly string[]): Promise<void> {
    if (given[0] === "__complete" || given[0] === "__completeNoDesc") return this.#complete(given.slice(1), given[0])
    const { found, argv } = await this.#preferred(given)
    if (await this.#isPlugin(found, argv)) return
    if (found.parents.length === 0) {
      const [name] = withoutFlags(found.args, this.#globals)
      if (name === "help") return this.#helpFor(found.args)
      if (name !== undefined) throw unknownCommand(this.#root, nameOf(this.#root), name)
    }
    const { command: called } = found
    const parsed = this.#parse(found)
    for (const notice of parsed.notices) await this.#environment.stderr.write(notice)
    if (parsed.help || called.run === undefined) return this.#out.write(this.#help(found))
    await this.#call(found, parsed)
  }

  /** Finds the command, as the preferences of the user have it if there are any. */
  async #preferred(argv: readonly string[]): Promise<Pick<Preferred, "found" | "argv">> {
    const commands = { root: this.#root, globals: this.#globals }
    const plain = async () => ({ found: await findCommand(this.#root, this.#globals, argv), argv })
    if (!this.#hasPreferences || argv.length === 0) return plain()
    const environment = this.#environment
    try {
      const path = kubercOf(environment, kubercFlag(argv))
      if (path === undefined || !(path.isExplicit || (await isThere(environment, path.path)))) return await plain()
      const { preferred } = await import("./preferences/preferred.ts")
      const result = await preferred(path, argv, environment, quietOutput(environment.stderr), commands)
      this.#pluginPolicy = result?.policy
      this.#original = result?.original
      return result ?? (await plain())
    } catch (err) {
      throw new ExitError(`error occurred while applying preferences ${errorMessage(err)}`, 1)
    }
  }

  /** Answers a shell: a proposal in each line, then what to do with them. */
  async #complete(words: readonly string[], asked: string): Promise<void> {
    const { complete, nameOfDirective } = await import("./completion/complete.ts")
    const word = words.at(-1) ?? ""
    const before = words.slice(0, -1)
    const found = await findCommand(this.#root, this.#globals, before[0] === "help" ? before.slice(1) : before)
    const globals = this.#globalsOf(found)
    const factory = this.#factory(globals, found.names.join(" ")).factory
    const proposals = await complete({ found, globals: this.#globals, word, invocation: { factory } })
    const shown = asked === "__complete" ? proposals.words : proposals.words.map((each) => each.split("\t", 1)[0]!)
    const { stdout, stderr } = this.#environment
    await stdout.write(`${shown.map((each) => `${each}\n`).join("")}:${proposals.directive}\n`)
    await stderr.write(`Completion ended with directive: ${nameOfDirective(proposals.directive)}\n`)
  }

  /** The global flags of a command line that may not be complete. */
  #globalsOf(found: Found): GlobalValues {
    try {
      return this.#globalValues(found, this.#parse(found))
    } catch {
      return parseFlags([], this.#globals).values as GlobalValues
    }
  }

  /** Runs the plugin that the arguments name, if there is one. @throws ExitError with its code */
  async #isPlugin(found: Found, argv: readonly string[]): Promise<boolean> {
    const [word] = withoutFlags(found.args, this.#globals)
    if (word === undefined || (found.parents.length === 0 && BUILT_IN.includes(word))) return false
    const plugin = await pluginFor(found, argv, this.#environment)
    if (plugin === undefined) return false
    const { path: program, args } = plugin
    const { code } = await this.#environment.programs.run({ command: program, args })
    if (code !== 0) throw new SilentExit(code)
    return true
  }

  /** `kubectl help get` is `kubectl get --help`. */
  async #helpFor(args: readonly string[]): Promise<void> {
    const words = withoutFlags(args, this.#globals).slice(1)
    const found = await findCommand(this.#root, this.#globals, words)
    const rest = withoutFlags(found.args, this.#globals)
    if (found.parents.length === 0 && rest.length > 0) {
      const help = this.#help(found).slice((found.command.long ?? "").trim().length)
      await this.#environment.stderr.write(
        `Unknown help topic [${rest.map((word) => `\`${word}\``).join(" ")}]\n${help}`,
      )
      return
    }
    await this.#out.write(this.#help(found))
  }

  #parse({ command: called, names, args }: Found): ParsedFlags {
    if (called.noFlagParsing === true)
      return { ...parseFlags([], { ...this.#globals, ...called.flags }), args: [...args], argsBeforeDash: -1 }
    try {
      return parseFlags(args, { ...this.#globals, ...called.flags }, { interspersed: called.notInterspersed !== true })
    } catch (err) {
      if (called.flagErrorCode !== undefined)
        throw new ExitError(
          `error: ${errorMessage(err)}\nSee '${names.join(" ")} -h' for help and examples`,
          called.flagErrorCode,
        )
      const hint =
        nameOf(called) === "options"
          ? `Run '${names.join(" ")}' without flags.`
          : `See '${names.join(" ")} --help' for usage.`
      throw new Error(`${(err as Error).message}\n${hint}`, { cause: err })
    }
  }

  /** The values of the global flags; one that the command has a flag of the same name for was not meant. */
  #globalValues({ command: called }: Found, parsed: ParsedFlags): GlobalValues {
    const values: Record<string, unknown> = {}
    for (const [name, flag] of Object.entries<Flag>(this.#globals))
      values[name] = Object.hasOwn(called.flags, name) ? flag.default : parsed.values[name]
    // Each value is that of the flag of its name, so they have the types of the flags.
    return values as unknown as GlobalValues
  }

  async #call(found: Found, parsed: ParsedFlags): Promise<void> {
    const environment = this.#environment
    const globals = this.#globalValues(found, parsed)
    const path = found.names.join(" ")
    const { factory, errOut, warnings, log } = this.#factory(globals, path)
    if (this.#original !== undefined)
      log.info(1, `original command: ${JSON.stringify(`kubectl ${this.#original}`)}`, "cmd.go:371")
    const invocation: Invocation = {
      flags: parsed.values,
      changed: (flag) => parsed.changed.has(flag),
      given: parsed.given,
      args: parsed.args,
      argsBeforeDash: parsed.argsBeforeDash,
      globals,
      factory,
      environment,
      out: this.#out,
      errOut,
      path,
      parents: found.parents,
      help: () => this.#help(found),
      usageError: (message) => new Error(`${message}\nSee '${path} -h' for help and examples`),
    }
    try {
      await found.command.run!(invocation)
    } finally {
      await warnings.flushed()
      await log.flushed()
    }
    if (globals["warnings-as-errors"] && warnings.count > 0)
      throw new Error(`${warnings.count} warning${warnings.count === 1 ? "" : "s"} received`)
  }

  /** What a command asks for, and what it warns and logs by. */
  #factory(
    globals: GlobalValues,
    path: string,
  ): Readonly<{ factory: Factory; errOut: Output; warnings: Warnings; log: Log }> {
    const environment = this.#environment
    const errOut = quietOutput(environment.stderr)
    const warnings = new Warnings(errOut, { color: allowsColor(environment) })
    const log = new Log({ out: errOut, clock: environment.clock, level: globals.v, processId: environment.processId })
    const factory = new Factory({
      environment,
      globals,
      warnings,
      log,
      headers: this.#headers(path),
      pluginPolicy: this.#pluginPolicy,
    })
    return { factory, errOut, warnings, log }
  }

  /** The headers that tell the server what is asking. Source: KEP 859. */
  #headers(path: string): Readonly<Record<string, string>> {
    const { version, random } = this.#environment
    const commit = version.gitCommit === "" ? "unknown" : version.gitCommit.slice(0, 7)
    return {
      "User-Agent": `kubectl/${version.gitVersion} (${version.platform}) kubernetes/${commit}`,
      "Kubectl-Command": path,
      "Kubectl-Session": uuid(random),
    }
  }

  #help({ command: called, names }: Found): string {
    const width = helpWidth(this.#out.size()?.columns)
    if (nameOf(called) === "options" && names.length === 2)
      return wrapWords(
        `The following options can be passed to any command:\n\n${flagsText(this.#globals, width)}`,
        width,
      )
    return helpOf(called as Command, { names, globals: this.#globals, groups: GROUPS, width })
  }
}

function kubercOf(environment: Environment, flag: string): ReturnType<typeof kubercPath> {
  try {
    return kubercPath(environment, flag)
  } catch (err) {
    throw new Error(`kuberc error ${errorMessage(err)}`, { cause: err })
  }
}

const isThere = async ({ files }: Environment, path: string): Promise<boolean> =>
  (await files.stat(path).catch(() => null)) !== undefined

/** Source: cli-runtime pkg/printers/terminal.go (AllowsColorOutput). */
const allowsColor = ({ stderr, variables }: Environment): boolean =>
  stderr.isTerminal && variables["TERM"] !== "dumb" && variables["NO_COLOR"] === undefined
