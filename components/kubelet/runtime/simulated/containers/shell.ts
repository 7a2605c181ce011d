import type { ContainerHandle } from "./behaviour.ts"

export interface ShellResult {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

/** Images of a shell or an interpreter, whose container exits when its command ends. */
const INTERPRETERS = new Set([
  "busybox",
  "alpine",
  "bash",
  "debian",
  "ubuntu",
  "fedora",
  "centos",
  "rockylinux",
  "amazonlinux",
  "perl",
  "python",
  "node",
  "ruby",
  "php",
  "golang",
  "curl",
  "kubectl",
  "hello-world",
])

/** Whether a container of this image exits by itself when its command is unknown. */
export const isInterpreter = (image: string): boolean =>
  INTERPRETERS.has((image.split("/").at(-1) ?? "").split(/[:@]/)[0] ?? "")

/** Parses a command line; returns undefined for a program that the simulation does not know. */
export function understood(command: readonly string[]): readonly (readonly string[])[] | undefined {
  const [program = "", ...rest] = command
  const name = program.split("/").at(-1) ?? ""
  if (["sh", "bash", "ash", "dash"].includes(name)) {
    const at = rest.findIndex((word) => /^-\w*c$/.test(word))
    return at < 0 ? undefined : parse(rest[at + 1] ?? "")
  }
  return WORDS.has(name) ? [[name, ...rest]] : undefined
}

/** Whether a command always ends at once, with the same result, whatever the state of its container. */
export function isConstant(command: readonly string[]): boolean {
  const commands = understood(command)
  return commands === undefined || commands.every(([name = ""]) => CONSTANT.has(name))
}

const CONSTANT = new Set(["echo", "true", "false", ":", "exit", "env", "printenv", "hostname", "whoami", "pwd"])

const WORDS = new Set([
  "echo",
  "true",
  "false",
  ":",
  "sleep",
  "exit",
  "cat",
  "env",
  "printenv",
  "hostname",
  "ls",
  "test",
  "date",
  "whoami",
  "pwd",
  "tail",
])

/** Parses a sequence of commands; returns undefined for loops, pipes, redirections and the like. */
function parse(script: string): readonly (readonly string[])[] | undefined {
  const commands: string[][] = []
  for (const line of script.split(/\n|;|&&/)) {
    const text = line.trim()
    if (text === "") continue
    if (/[|<>`&(){}]|\$\(/.test(text)) return undefined
    const words = [...text.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
      ([, double, single, bare]) => double ?? single ?? bare ?? "",
    )
    if (words[0] === "exec") words.shift()
    if (!WORDS.has(words[0] ?? "")) return undefined
    commands.push(words)
  }
  return commands
}

/** Runs commands one after the other, as `sh -e` does. `print` is called with output as it is written. */
export async function runShell(
  commands: readonly (readonly string[])[],
  container: ContainerHandle,
  print: (text: string, stream: "stdout" | "stderr") => void,
): Promise<number> {
  for (const [name = "", ...given] of commands) {
    const words = given.map((word) => word.replace(/\$\{?(\w+)\}?/g, (_all, key: string) => container.env[key] ?? ""))
    const code = await one(name, words, container, print)
    if (name === "exit") return code
    if (code !== 0) return code
  }
  return 0
}

/** Runs commands and returns all output. */
export async function shellResult(
  commands: readonly (readonly string[])[],
  container: ContainerHandle,
): Promise<ShellResult> {
  const written = { stdout: "", stderr: "" }
  const exitCode = await runShell(commands, container, (text, stream) => (written[stream] += text))
  return { exitCode, ...written }
}

const UNITS: Readonly<Record<string, number>> = { "": 1000, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
/** How long `sleep infinity` sleeps, in milliseconds: longer than any cluster lives. */
const FOREVER = 2 ** 52

async function one(
  name: string,
  words: readonly string[],
  container: ContainerHandle,
  print: (text: string, stream: "stdout" | "stderr") => void,
): Promise<number> {
  const say = (text: string) => print(text, "stdout")
  switch (name) {
    case "true":
    case ":":
      return 0
    case "false":
      return 1
    case "exit":
      return Number(words[0] ?? 0)
    case "echo":
      return (
        say(`${words.filter((word) => word !== "-n" && word !== "-e").join(" ")}${words[0] === "-n" ? "" : "\n"}`), 0
      )
    case "sleep": {
      const [, amount, unit = ""] = /^([\d.]+)([smhd]?)$/.exec(words[0] ?? "") ?? []
      await container.sleep(amount === undefined ? FOREVER : Number(amount) * UNITS[unit]!)
      return 0
    }
    case "tail": {
      if (words.some((word) => word.startsWith("-f") || word === "--follow")) await container.sleep(FOREVER)
      return 0
    }
    case "env":
    case "printenv": {
      const one = name === "printenv" ? words[0] : undefined
      if (one !== undefined) return container.env[one] === undefined ? 1 : (say(`${container.env[one]}\n`), 0)
      return (
        say(
          Object.entries(container.env)
            .map(([key, value]) => `${key}=${value}\n`)
            .join(""),
        ),
        0
      )
    }
    case "hostname":
      return (say(`${container.pod.name}\n`), 0)
    case "whoami":
      return (say("root\n"), 0)
    case "pwd":
      return (say("/\n"), 0)
    case "date":
      return (say(`${new Date(container.now()).toUTCString()}\n`), 0)
    case "test":
    case "ls": {
      const path = words.filter((word) => !word.startsWith("-"))[0]
      if (path === undefined || (await container.read(path)) !== undefined)
        return path !== undefined && name === "ls" ? (say(`${path}\n`), 0) : 0
      if (name === "ls") print(`ls: ${path}: No such file or directory\n`, "stderr")
      return 1
    }
    case "cat": {
      for (const path of words) {
        const text = await container.read(path)
        if (text === undefined) {
          print(`cat: can't open '${path}': No such file or directory\n`, "stderr")
          return 1
        }
        say(text)
      }
      return 0
    }
    default:
      return 127
  }
}
