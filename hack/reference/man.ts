/**
 * Manual pages in the macros of man(7), made of the declarations of commands and flags: `k3ts.1`, and a page for each
 * command or group of commands.
 */
import { variableOf } from "../../cmd/k3ts/cli/flags.ts"
import { shownFlags } from "../../cmd/k3ts/cli/flags.ts"
import { shownFlag, usageOf } from "../../cmd/k3ts/cli/help.ts"
import { chapters, type Chapter, type NamedCommand } from "./commands.ts"
import { wrap } from "./wrap.ts"

/** Of a source line, in bytes: what mandoc's lint asks for, without the escape at the start. */
const LINE_LENGTH = 78

export interface ManualPage {
  /** Of the file: `k3ts-server.1`. */
  readonly name: string
  readonly text: string
}

export interface ManualOptions {
  readonly version: string
  /** The date on every page: seconds since 1970. */
  readonly epoch: number
}

const FILES: readonly (readonly [path: string, what: string])[] = [
  ["/etc/k3ts/config.yaml", "The config file: a YAML map whose keys are the flags of k3ts-server(1)."],
  ["/etc/k3ts/k3ts.yaml", "The administrator's kubeconfig, which the server writes. Only root may read it."],
  ["/etc/default/k3ts", "Variables for the service, such as proxies, in the form of systemd.exec(5)."],
  ["/var/lib/k3ts", "The data directory: store, certificates, tokens, images and volumes."],
  ["/run/k3ts", "Sockets and the state of what runs. It is gone after a reboot."],
]
const EXIT_CODES: readonly (readonly [code: string, meaning: string])[] = [
  ["0", "Success."],
  ["1", "The work failed."],
  ["2", "The command line, a variable or the config file is wrong, and nothing was done."],
]

/** Returns every page, `k3ts.1` first. */
export async function manualPages(options: ManualOptions): Promise<readonly ManualPage[]> {
  const all = await chapters()
  return [mainPage(all, options), ...all.map((chapter) => chapterPage(chapter, options))]
}

function mainPage(all: readonly Chapter[], options: ManualOptions): ManualPage {
  return page("k3ts", "a whole Kubernetes cluster in one executable", options, [
    section("SYNOPSIS", [".B k3ts", roff("COMMAND [flags]")]),
    section("DESCRIPTION", [
      roff(
        "k3ts runs the API server, the controllers, the scheduler, kube-proxy, the kubelet and the DNS of a " +
          "Kubernetes cluster as components of one process on one machine. kubectl and other tools work with it " +
          "unchanged.",
      ),
    ]),
    section(
      "COMMANDS",
      all.flatMap(({ name, summary }) => definition(`.BR k3ts\\-${roff(name)} (1)`, `${summary}.`)),
    ),
    section("CONFIGURATION", [
      roff(
        "Each flag can also be set by a variable of the environment (K3TS_ and its name in capitals), and those of " +
          "the server by a key of the config file. The command line counts before the environment, and that before " +
          "the file.",
      ),
    ]),
    section(
      "FILES",
      FILES.flatMap(([path, what]) => definition(`.I ${roff(path)}`, what)),
    ),
    section(
      "EXIT STATUS",
      EXIT_CODES.flatMap(([code, meaning]) => definition(`.B ${code}`, meaning)),
    ),
    section("SEE ALSO", [".BR kubectl (1),", ".BR containerd (8),", ".BR systemctl (1)"]),
  ])
}

function chapterPage({ name, summary, commands }: Chapter, options: ManualOptions): ManualPage {
  return page(`k3ts-${name}`, lowered(summary), options, [
    section(
      "SYNOPSIS",
      commands.flatMap(({ path, command }, index) => [
        ...(index === 0 ? [] : [".br"]),
        synopsis(path, usageOf(path, command)),
      ]),
    ),
    ...(commands.length === 1 ? sectionsOfCommand(commands[0]!) : commands.map(sectionOfGroupMember)),
    section(
      "EXIT STATUS",
      EXIT_CODES.flatMap(([code, meaning]) => definition(`.B ${code}`, meaning)),
    ),
    section("SEE ALSO", [".BR k3ts (1)"]),
  ])
}

const sectionsOfCommand = ({ command }: NamedCommand): string[] => [
  section("DESCRIPTION", paragraphs(`${command.summary}.`, command.details)),
  section("OPTIONS", optionsOf(command)),
]

const sectionOfGroupMember = ({ path, command }: NamedCommand): string =>
  section(path.toUpperCase(), [...paragraphs(`${command.summary}.`, command.details), ...optionsOf(command)])

function optionsOf({ flags }: NamedCommand["command"]): string[] {
  const options = shownFlags(flags).flatMap(([name, schema]) => {
    const { short, value, what } = shownFlag(schema)
    const names = [...(short === undefined ? [] : [`-${short}`]), `--${name}`].map((one) => `\\fB${roff(one)}\\fR`)
    return definition(
      `${names.join(", ")}${value === "" ? "" : ` \\fI${roff(value)}\\fR`}`,
      `${what}. Variable: ${variableOf(name)}.`,
    )
  })
  return [...options, ...definition(`\\fB${roff("-h")}\\fR, \\fB${roff("--help")}\\fR`, "Show a short help.")]
}

/** A synopsis: the command's own words bold, the rest not. */
const synopsis = (path: string, usage: string): string => `\\fB${roff(path)}\\fR${roff(usage.slice(path.length))}`

const paragraphs = (...texts: readonly string[]): string[] =>
  texts
    .flatMap((text) => text.split("\n"))
    .filter((text) => text !== "")
    .flatMap((text, index) => [...(index === 0 ? [] : [".PP"]), roff(text)])

const definition = (term: string, text: string): string[] => [".TP", term, roff(text)]

const section = (title: string, lines: readonly string[]): string => [`.SH ${roff(title)}`, ...lines].join("\n")

function page(
  name: string,
  summary: string,
  { version, epoch }: ManualOptions,
  sections: readonly string[],
): ManualPage {
  const date = new Date(epoch * 1000).toISOString().slice(0, 10)
  const head = `.TH ${roff(name.toUpperCase())} 1 ${date} "k3ts ${version}" "k3ts"`
  const title = section("NAME", [`${roff(name)} \\- ${roff(summary)}`])
  return { name: `${name}.1`, text: `${[head, title, ...sections].join("\n")}\n` }
}

/** Lower-cases the first letter, as names of pages have it. */
const lowered = (text: string): string => text.slice(0, 1).toLowerCase() + text.slice(1)

/** Characters beyond ASCII of our texts, as groff_char(7) names them. */
const NAMED: Readonly<Record<string, string>> = { "…": "...", "–": "\\(en", "→": "\\(->" }

/**
 * Escapes a text for a line of its own, so that it shows as it is written: backslashes, hyphens that are to be copied,
 * and a dot or quote at the start, which would make the line a request. A long text becomes several lines.
 */
export function roff(text: string): string {
  const escaped = text
    .replaceAll("\\", "\\(rs")
    .replaceAll("-", "\\-")
    .replaceAll("`", "\\(ga")
    .replaceAll("^", "\\(ha")
    .replaceAll("~", "\\(ti")
    .replaceAll(
      /[^\0-\x7f]/gu,
      (character) =>
        NAMED[character] ?? `\\[u${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}]`,
    )
  // A sentence begins a line, which is how roff knows where sentences end.
  return escaped
    .split(/(?<=\.) (?=[A-Z])/)
    .flatMap((line) => wrap(line, LINE_LENGTH))
    .map((line) => (/^[.']/.test(line) ? `\\&${line}` : line))
    .join("\n")
}

if (import.meta.main)
  for (const { name, text } of await manualPages({ version: "dev", epoch: 0 })) {
    await Bun.write(`${process.argv[2] ?? "."}/${name}`, text)
  }
