import { goQuoted } from "../../../apimachinery/go/go-text.ts"
import { command, type Invocation } from "../../command/command.ts"
import { boolFlag, stringArrayFlag, stringFlag } from "../../command/flag.ts"
import { throwAggregate } from "../../errors/aggregate.ts"
import {
  NEWEST_VERSION,
  type AllowlistEntry,
  type CommandOption,
  type Preference,
} from "../../preferences/preference.ts"
import { kubercFile, kubercFileFlag, parseKuberc, readKuberc, saveKuberc } from "./kuberc-file.ts"

const flags = {
  ...kubercFileFlag(),
  section: stringFlag("", "The section to change: 'defaults', 'aliases', or 'credentialplugin'"),
  command: stringFlag("", "The command to configure (e.g., 'get', 'create', 'set env')"),
  name: stringFlag("", "The name of the alias (with --section=aliases)"),
  policy: stringFlag(
    "",
    "What programs that give credentials may run: 'AllowAll', 'DenyAll' or 'Allowlist' (with --section=credentialplugin)",
  ),
  option: stringArrayFlag([], "A flag of the command with its value, as flag=value (may be repeated)"),
  prependarg: stringArrayFlag([], "An argument before those of the command line (may be repeated, aliases only)"),
  appendarg: stringArrayFlag([], "An argument after those of the command line (may be repeated, aliases only)"),
  "allowlist-entry": stringArrayFlag([], "An entry of the allowlist, as field=value (may be repeated)"),
  overwrite: boolFlag(false, "Replace entries that are there already"),
}

type Values = Invocation<typeof flags>["flags"]
const SECTIONS = ["defaults", "aliases", "credentialplugin"]

/** Source: kubectl pkg/cmd/kuberc/set.go. */
export const kubercSetCommand = command({
  use: "set --section (defaults|aliases) --command COMMAND",
  noFlagsInUse: true,
  short: "Set values in the kuberc configuration",
  long: `
Change the preferences.

 --section says what is set: defaults of flags, or aliases.

 For defaults, --command is only the command (like "get", "create", "set env"), without resources.

 An alias is a further name of a command, with flags and arguments; --prependarg and --appendarg are its arguments, such as resources.`,
  example: `
# Set the default output format of 'get'
kubectl kuberc set --section defaults --command get --option output=wide

# Set that of a command below another
kubectl kuberc set --section defaults --command "set env" --option output=yaml

# Create the alias 'getn', which gets nodes
kubectl kuberc set --section aliases --name getn --command get --prependarg nodes --option output=wide

# Create the alias 'runx', which runs a command in a container
kubectl kuberc set --section aliases --name runx --command run --option image=nginx --appendarg "--" --appendarg custom-arg1

# Replace a default
kubectl kuberc set --section defaults --command get --option output=json --overwrite

# Say which programs may give credentials
kubectl kuberc set --section credentialplugin --policy Allowlist --allowlist-entry command=cloud-credential-helper`,
  flags,
  async run({ flags: values, changed, environment, out }) {
    if (!changed("section")) throw new Error('required flag(s) "section" not set')
    const { path } = kubercFile(environment, values.kuberc)
    check(values)
    const text = (await readKuberc(environment, path)) ?? ""
    const before = text === "" ? { apiVersion: NEWEST_VERSION, kind: "Preference" } : parseKuberc(text)
    const options = values.option.map(optionOf)
    const after =
      values.section === "defaults"
        ? withDefaults(before, values, options)
        : values.section === "aliases"
          ? withAlias(before, values, options)
          : withPolicy(before, values)
    await saveKuberc(environment, after, path, out)
  },
})

function check(values: Values): void {
  const { section, name, prependarg, appendarg } = values
  if (!SECTIONS.includes(section)) {
    const [first, second, third] = SECTIONS
    throw new Error(`--section must be "${first}", "${second}", or "${third}", got: ${section}`)
  }
  if (section === "aliases" && name === "") throw new Error("--name is required when --section=aliases")
  if (section === "defaults" && name !== "") throw new Error("--name should not be specified when --section=defaults")
  if (section === "defaults" && prependarg.length + appendarg.length > 0)
    throw new Error("--prependarg and --appendarg are only valid for --section=aliases")
  if (section !== "credentialplugin") {
    if (values.command === "") throw new Error("--command is required when --section=aliases or --section=defaults")
    return
  }
  checkPolicy(values.policy, values["allowlist-entry"])
}

function checkPolicy(policy: string, entries: readonly string[]): void {
  if (policy === "") throw new Error("--policy is required when --section=credentialplugin")
  if (policy === "AllowAll" || policy === "DenyAll") {
    if (entries.length > 0)
      throw new Error("--allowlist-entry may only be used when --section=credentialplugin and --policy=Allowlist")
  } else if (policy === "Allowlist") {
    if (entries.length === 0)
      throw new Error("--allowlist-entry is required when --section=credentialplugin and --policy=Allowlist")
  } else throw new Error(` --policy must be  "AllowAll", "DenyAll", or "Allowlist", got: ${policy}`)
}

function optionOf(text: string): CommandOption {
  const at = text.indexOf("=")
  if (at === -1) throw new Error(`invalid option format ${goQuoted(text)}, expected flag=value`)
  return { name: text.slice(0, at).replace(/^-+/, ""), default: text.slice(at + 1) }
}

/** What is not given stays as it was. */
const or = <T>(given: readonly T[], before: readonly T[] | null | undefined): readonly T[] =>
  given.length > 0 ? given : (before ?? [])

function withDefaults(
  before: Preference,
  { command: name, overwrite }: Values,
  options: readonly CommandOption[],
): Preference {
  const defaults = before.defaults ?? []
  const known = defaults.find((each) => each.command === name)
  if (known === undefined)
    return { ...before, defaults: [...defaults, { command: name, options: options.length === 0 ? null : options }] }
  if (!overwrite) throw new Error(`defaults for command ${goQuoted(name)} already exist, use --overwrite to replace`)
  const replaced = { ...known, options: options.length === 0 ? (known.options ?? null) : options }
  return { ...before, defaults: defaults.map((each) => (each === known ? replaced : each)) }
}

function withAlias(before: Preference, values: Values, options: readonly CommandOption[]): Preference {
  const { name, command: line, prependarg, appendarg, overwrite } = values
  const aliases = before.aliases ?? []
  const known = aliases.find((each) => each.name === name)
  if (known !== undefined && !overwrite)
    throw new Error(`alias ${goQuoted(name)} already exists, use --overwrite to replace`)
  const alias = {
    name,
    command: line,
    prependArgs: or(prependarg, known?.prependArgs),
    appendArgs: or(appendarg, known?.appendArgs),
    options: or(options, known?.options),
  }
  if (known === undefined) return { ...before, aliases: [...aliases, alias] }
  return { ...before, aliases: aliases.map((each) => (each === known ? alias : each)) }
}

function withPolicy(before: Preference, values: Values): Preference {
  const { policy } = values
  if (policy !== "Allowlist") return { ...before, credentialPluginPolicy: policy }
  const entries: AllowlistEntry[] = []
  const errors: Error[] = []
  for (const pair of values["allowlist-entry"].flatMap((text) => text.split(",")))
    try {
      entries.push(entryOf(pair))
    } catch (err) {
      errors.push(err as Error)
    }
  throwAggregate(errors)
  return { ...before, credentialPluginPolicy: policy, credentialPluginAllowlist: entries }
}

function entryOf(pair: string): AllowlistEntry {
  const at = pair.indexOf("=")
  if (at === -1) throw new Error(`improperly formatted allowlist entry: ${goQuoted(pair)}`)
  const [field, value] = [pair.slice(0, at), pair.slice(at + 1)]
  if (field === "name") throw new Error('allowlist entry field "name" is deprecated, use "command" instead')
  if (field !== "command") throw new Error(`unrecognized allowlist entry field: ${goQuoted(field)}`)
  if (value.trim() === "") throw new Error(`empty value in allowlist entry for field ${goQuoted(field)}`)
  return { command: value }
}
