/**
 * docs/reference.md, made of the declarations of commands and flags: `bun hack/reference/markdown.ts` writes it.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { shownFlags } from "../../cmd/k3ts/cli/flags.ts"
import { shownFlag, usageOf } from "../../cmd/k3ts/cli/help.ts"
import { PROGRAMS } from "../../cmd/k3ts/k3s/programs.ts"
import { meaningOf } from "../../cmd/k3ts/k3s/upstream-arg.ts"
import { DEFAULT_FEATURES, FEATURE_NAMES } from "../../pkg/component/features.ts"
import { OFF_VERSIONS, OPTIONAL_KINDS, versionOf } from "../../pkg/component/optional-kinds.ts"
import { gatesThatAre } from "../../pkg/component/upstream-gates.ts"
import { KUBELET_SETTINGS } from "../../cmd/k3ts/config/kubelet-args.ts"
import { MEANINGS, type Meaning } from "../../cmd/k3ts/config/kubelet-configuration/meanings.ts"
import { chapters, type Chapter, type NamedCommand } from "./commands.ts"
import { wrap } from "./wrap.ts"

/** As the check of the tree wants it. */
const LINE_LENGTH = 120
const PAGE = join(import.meta.dirname, "../../docs/reference.md")

const HEAD = `# Every command and flag

Made from the program by \`bun hack/reference/markdown.ts\`; \`k3ts COMMAND --help\` shows the same.

A flag can be given in three places, of which the first has precedence: on the command line (\`--data-dir /srv/k3ts\`
or \`--data-dir=/srv/k3ts\`); as an environment variable, with \`K3TS_\` before its name in capitals
(\`K3TS_DATA_DIR=/srv/k3ts\`); and, for a command that has \`--config\`, as a key of the config file (\`data-dir:
/srv/k3ts\`). The keys of the config file are the flags of \`k3ts server\` without the dashes; other commands take
the flags that they need from the same file, so that they find the server's folders. A flag that may be repeated is a
list in the file.
`

/** Returns the page as it is, and as it should be. */
export async function referencePage(): Promise<{ readonly text: string; readonly wanted: string }> {
  return {
    text: readFileSync(PAGE, "utf8"),
    wanted: [
      HEAD,
      ...(await chapters()).map(chapterText),
      programsText(),
      kubeletFieldsText(),
      gatesText(),
      kindsText(),
    ].join("\n"),
  }
}

function chapterText({ name, summary, commands }: Chapter): string {
  const [first] = commands
  if (commands.length === 1 && first?.path === `k3ts ${name}`) return commandText("##", first)
  return [`## k3ts ${name}\n\n${summary}.\n`, ...commands.map((command) => commandText("###", command))].join("\n")
}

function commandText(heading: string, { path, command }: NamedCommand): string {
  const { summary, details, flags } = command
  const rows = shownFlags(flags).map(([name, schema]) => {
    const { short, value, what } = shownFlag(schema)
    const names = `${short === undefined ? "" : `\`-${short}\`, `}\`--${name}${value === "" ? "" : ` ${value}`}\``
    return `| ${cell(names)} | ${cell(what)} |`
  })
  return [
    `${heading} ${path}\n`,
    `${summary}.\n`,
    `${"```"}text\n${usageOf(path, command)}\n${"```"}\n`,
    ...(details === "" ? [] : [`${paragraphs(details)}\n`]),
    ...(rows.length === 0 ? [] : [`| flag | meaning |\n| --- | --- |\n${rows.join("\n")}\n`]),
  ].join("\n")
}

const PROGRAMS_HEAD = `## Flags of Kubernetes' programs

k3s passes flags to the programs that it is made of, by \`--kube-apiserver-arg NAME=VALUE\`,
\`--kube-controller-manager-arg\`, \`--kube-scheduler-arg\`, \`--kube-proxy-arg\` and \`--kubelet-arg\`. k3ts takes them too.
Each flag of Kubernetes 1.36 does something here, or means nothing, which the log says once at the start, or is refused
with the reason.
`

/** Returns what becomes of each flag of each program. */
function programsText(): string {
  const programs = Object.entries(PROGRAMS).map(([program, flags]) => {
    const settings = program === "kubelet" ? KUBELET_SETTINGS : []
    const rows = [
      ...Object.entries(flags).map(([name, flag]) => [name, meaningOf(flag)] as const),
      ...settings.map((name) => [name, `a setting of \`--kubelet-arg\``] as const),
    ]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, meaning]) => `| \`${name}\` | ${cell(meaning)} |`)
    return `### ${program}\n\n| flag | here |\n| --- | --- |\n${rows.join("\n")}\n`
  })
  return [PROGRAMS_HEAD, ...programs].join("\n")
}

const KUBELET_FIELDS_HEAD = `## Fields of a KubeletConfiguration

\`--kubelet-arg=config=FILE\` names a file with a KubeletConfiguration (\`kubelet.config.k8s.io/v1beta1\`), and
\`--kubelet-arg=config-dir=FOLDER\` a folder, as with Kubernetes' kubelet: its files, whose names end with \`.conf\`, are
merged over that file in the order of their names, lists as a whole, and \`null\` takes a field away. Settings and
flags that are given come before the files; feature gates count beside theirs. A field that is not known, or has a value
that cannot be, is refused with file and line. Each field of Kubernetes 1.36 does something here, or means nothing,
which the log says once at the start unless the value is Kubernetes' own default, or is refused with the reason.
`

/** Returns what becomes of each field of a KubeletConfiguration. */
function kubeletFieldsText(): string {
  const rows = Object.entries(MEANINGS)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([field, meaning]) => `| \`${field}\` | ${cell(ofField(meaning))} |`)
  return [KUBELET_FIELDS_HEAD, `| field | here |\n| --- | --- |\n${rows.join("\n")}\n`].join("\n")
}

function ofField(meaning: Meaning): string {
  if ("setting" in meaning) return `the setting \`${meaning.setting}\` of \`--kubelet-arg\``
  if ("flag" in meaning) return `the flag \`--${meaning.flag}\``
  if ("own" in meaning) return meaning.own
  return meaningOf(meaning.like)
}

/** Returns which feature gates can be changed, and which cannot. */
function gatesText(): string {
  const own = FEATURE_NAMES.map((name) => `| \`${name}\` | ${DEFAULT_FEATURES[name] ? "on" : "off"} |`)
  const lists = (
    [
      ["on", "On, and they cannot be turned off here"],
      ["lockedOn", "On for good, also in Kubernetes"],
      ["beta", "Beta, off in Kubernetes, and not in k3ts"],
      ["alpha", "Alpha, off in Kubernetes, and not in k3ts"],
      ["deprecated", "Deprecated, off in Kubernetes, and not in k3ts"],
      ["lockedOff", "Off for good, also in Kubernetes"],
    ] as const
  ).map(([state, what]) => `${what}:\n\n${wrap(gatesThatAre(state).join(", "), LINE_LENGTH).join("\n")}.\n`)
  return [
    "## Feature gates\n\n`--feature-gates NAME=BOOL,…` changes these:\n",
    `| gate | by default |\n| --- | --- |\n${own.join("\n")}\n`,
    "The others of Kubernetes 1.36 may be given as they are, and are refused otherwise, with the reason.\n",
    ...lists,
  ].join("\n")
}

/** Returns which kinds are served only on demand. */
function kindsText(): string {
  const rows = OPTIONAL_KINDS.map((kind) => `| \`${versionOf(kind)}\` | ${kind.plural} | \`${kind.gate}\` |`)
  const here = new Set(OPTIONAL_KINDS.map(versionOf))
  const others = Object.values(OFF_VERSIONS)
    .flat()
    .filter((version) => !here.has(version))
  return [
    "## Kinds that are off by default\n",
    "`--runtime-config GROUP/VERSION=true` serves these, if their gate is on:\n",
    `| version | kinds | gate |\n| --- | --- | --- |\n${rows.join("\n")}\n`,
    "`api/beta=true`, `api/alpha=true` and `api/all=true` serve all of them. Versions that Kubernetes 1.36 has, and k3ts",
    "has not:\n",
    `${wrap(others.join(", "), LINE_LENGTH).join("\n")}.\n`,
  ].join("\n")
}

const paragraphs = (text: string): string =>
  text
    .replaceAll("<", "&lt;")
    .split("\n")
    .map((line) => wrap(line, LINE_LENGTH).join("\n"))
    .join("\n\n")

/** Escapes what would end a cell, and what would be taken for a tag. */
const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("<", "&lt;")

if (import.meta.main) writeFileSync(PAGE, (await referencePage()).wanted)
