import { APIService } from "../../../pkg/api/apiregistration/v1/apiservice.ts"
import type { Scheme } from "../../../pkg/api/scheme.ts"
import { compareVersions } from "../../../pkg/apimachinery/scalars/compare-versions.ts"
import { isRemote, type ApiServices, type RemoteService } from "./api-services.ts"
import type { RemoteDiscovery, RemoteVersion } from "./discovery.ts"
import { BUILTIN_PRIORITIES, CUSTOM_PRIORITY, type Priority } from "./priorities.ts"
import { largest } from "../../../pkg/lists/extremes.ts"

/** A group as discovery shows it, with its versions in order of preference; the core group's name is empty. */
export interface ListedGroup {
  readonly name: string
  readonly versions: readonly ListedVersion[]
}

export interface ListedVersion {
  readonly version: string
  /** The discovery of an extension server; absent for a version that this server serves. */
  readonly remote?: RemoteVersion
}

/**
 * The groups for the older discovery documents (`named`) and for the aggregated one. The two order groups of equal
 * priority in different ways.
 */
export interface ListedGroups {
  /** In the order of `/apis`. The list comes from APIServices alone, so it may have a version that no server serves. */
  readonly named: readonly ListedGroup[]
  readonly aggregated: readonly ListedGroup[]
}

/** The group of APIServices comes first. Source: kube-aggregator APIRegistrationGroupPriority. */
const OWN_PRIORITY: Priority = { group: 20_001, version: 0 }

interface Entry {
  readonly version: string
  readonly priority: Priority
  readonly served: boolean
  readonly remote: RemoteService | undefined
}

/** Merges the groups that this server serves with those of APIServices. */
export function listedGroups(
  { groups }: Pick<Scheme, "groups">,
  services: ApiServices,
  discovery: Pick<RemoteDiscovery, "versionOf">,
): ListedGroups {
  const found = new Map<string, Map<string, Entry>>()
  const put = (group: string, entry: Entry) =>
    found.set(group, (found.get(group) ?? new Map<string, Entry>()).set(entry.version, entry))
  for (const { name, versions } of groups)
    for (const version of versions)
      put(name, { version, priority: ownPriority(name, version), served: true, remote: undefined })
  for (const service of services.all) {
    const { group = "", version = "", groupPriorityMinimum, versionPriority } = service.spec
    if (group === APIService.group) continue
    const priority = { group: groupPriorityMinimum, version: versionPriority }
    const remote = isRemote(service) ? service : undefined
    const served = remote !== undefined || found.get(group)?.get(version)?.served === true
    put(group, { version, priority, served, remote })
  }
  const all = [...found].map(([name, versions]) => ({ name, entries: [...versions.values()].sort(byPreference) }))
  const shown = ({ name, entries }: (typeof all)[number]): ListedGroup => ({
    name,
    versions: entries.map(({ version, remote }) => ({
      version,
      ...(remote === undefined ? {} : { remote: discovery.versionOf(remote) }),
    })),
  })
  return {
    named: sorted(all, ({ name, entries }) => firstService(name, entries)).map(shown),
    aggregated: sorted(all, ({ name }) => name)
      .map(({ name, entries }) => ({ name, entries: entries.filter(({ served }) => served) }))
      .filter(({ entries }) => entries.length > 0)
      .map(shown),
  }
}

const ownPriority = (group: string, version: string): Priority =>
  group === APIService.group ? OWN_PRIORITY : (BUILTIN_PRIORITIES.get(`${group}/${version}`) ?? CUSTOM_PRIORITY)

const byPreference = (a: Entry, b: Entry): number =>
  b.priority.version - a.priority.version || compareVersions(a.version, b.version)

const highest = (entries: readonly Entry[]): number => largest(entries.map(({ priority }) => priority.group))

/** Returns the name of the APIService that decides the order of a group among groups of equal priority. */
const firstService = (group: string, entries: readonly Entry[]): string => {
  const most = highest(entries)
  const [first = ""] = entries
    .filter(({ priority }) => priority.group === most)
    .map(({ version }) => `${version}.${group}`)
    .sort()
  return first
}

/** Sorts groups by descending priority, and those of equal priority by `name`. */
function sorted<G extends { readonly entries: readonly Entry[] }>(
  groups: readonly G[],
  name: (group: G) => string,
): readonly G[] {
  return groups
    .map((group) => ({ group, priority: highest(group.entries), name: name(group) }))
    .sort((a, b) => b.priority - a.priority || (a.name < b.name ? -1 : 1))
    .map(({ group }) => group)
}
