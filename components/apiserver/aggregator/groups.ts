import { APIService } from "../../../pkg/api/apiregistration/v1/apiservice.ts"
import type { Scheme } from "../../../pkg/api/scheme.ts"
import { compareVersions } from "../../../pkg/apimachinery/compare-versions.ts"
import { isRemote, type ApiServices, type RemoteService } from "./api-services.ts"
import type { RemoteDiscovery, RemoteVersion } from "./discovery.ts"
import { BUILTIN_PRIORITIES, CUSTOM_PRIORITY, type Priority } from "./priorities.ts"

/** A group as discovery shows it, its versions in order of preference; the core group's name is empty. */
export interface ListedGroup {
  readonly name: string
  readonly versions: readonly ListedVersion[]
}

export interface ListedVersion {
  readonly version: string
  /** What another server has of it; absent where this server serves it. */
  readonly remote?: RemoteVersion
}

/** The groups of the older documents and those of the aggregated one, which order equal priorities otherwise. */
export interface ListedGroups {
  /** In the order of `/apis`. APIServices alone say what stands there, so a version may be there that nobody serves. */
  readonly named: readonly ListedGroup[]
  readonly aggregated: readonly ListedGroup[]
}

/** The group of APIServices comes before all others. Source: kube-aggregator APIRegistrationGroupPriority. */
const OWN_PRIORITY: Priority = { group: 20_001, version: 0 }

interface Entry {
  readonly version: string
  readonly priority: Priority
  readonly served: boolean
  readonly remote: RemoteService | undefined
}

/** Works out which groups there are: what this server serves and what APIServices add to it. */
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

const highest = (entries: readonly Entry[]): number => Math.max(...entries.map(({ priority }) => priority.group))

/** The name of the APIService that gives a group its place. */
const firstService = (group: string, entries: readonly Entry[]): string => {
  const most = highest(entries)
  const [first = ""] = entries
    .filter(({ priority }) => priority.group === most)
    .map(({ version }) => `${version}.${group}`)
    .sort()
  return first
}

/** Groups of higher priority first, equal ones by `name`. */
function sorted<G extends { readonly entries: readonly Entry[] }>(
  groups: readonly G[],
  name: (group: G) => string,
): readonly G[] {
  return groups
    .map((group) => ({ group, priority: highest(group.entries), name: name(group) }))
    .sort((a, b) => b.priority - a.priority || (a.name < b.name ? -1 : 1))
    .map(({ group }) => group)
}
