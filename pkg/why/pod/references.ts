import { isDNS1123Subdomain } from "../../apimachinery/validation/names.ts"
import type { Pod } from "../../api/core/v1/pod/pod.ts"
import { nearest } from "../../names/suggest.ts"
import { finding, mend, type Finding } from "../answer.ts"
import type { Ward } from "../doctor.ts"
import { ACCOUNTS, CONFIG_MAPS, SECRETS, type Kind } from "../reading/kinds.ts"
import { CannotRead } from "../reading/reader.ts"
import { command } from "../command.ts"

/** A ConfigMap or a Secret that a pod needs, and the keys that it needs of it. */
interface Need {
  readonly kind: Kind
  readonly name: string
  readonly key?: string
  /** Where in the pod it is named. */
  readonly at: string
}

/** Returns what a pod needs of ConfigMaps and Secrets, and does not get. */
export async function referenceFindings(pod: Pod, ward: Ward): Promise<readonly Finding[]> {
  const { namespace = "" } = pod.metadata
  const findings: Finding[] = []
  const seen = new Set<string>()
  for (const need of needsOf(pod)) {
    const { kind, name, key, at } = need
    let object
    try {
      object = await ward.reader.get(kind, namespace, name)
    } catch (err) {
      if (err instanceof CannotRead) continue
      throw err
    }
    const what = kind.kind.toLowerCase()
    if (object === undefined) {
      if (seen.has(name + what)) continue
      seen.add(name + what)
      findings.push(await missingObject(need, namespace, ward))
      continue
    }
    if (key === undefined) continue
    const { data = {}, binaryData = {} } = object as unknown as Record<"data" | "binaryData", Record<string, string>>
    const keys = [...Object.keys(data), ...Object.keys(binaryData)]
    if (keys.includes(key) || seen.has(`${name}/${key}`)) continue
    seen.add(`${name}/${key}`)
    const near = nearest(key, keys)
    findings.push(
      finding(
        `${what}-key-missing`,
        `${kind.kind} ${name} has no key ${JSON.stringify(key)}, which ${at} needs` +
          (near === undefined ? "" : `; it has ${JSON.stringify(near)}`),
        {
          evidence: [
            keys.length === 0 ? `${kind.kind} ${name} is empty` : `${kind.kind} ${name} has ${keys.join(", ")}`,
          ],
          hints: [
            kind === CONFIG_MAPS
              ? command`kubectl patch configmap ${name} -n ${namespace} --type=merge -p ${JSON.stringify({ data: { [key]: "VALUE" } })}`
              : command`kubectl patch secret ${name} -n ${namespace} --type=merge -p ${JSON.stringify({ stringData: { [key]: "VALUE" } })}`,
          ],
        },
      ),
    )
  }
  return findings
}

async function missingObject({ kind, name, at }: Need, namespace: string, { reader }: Ward): Promise<Finding> {
  const what = kind.kind.toLowerCase()
  const there = (await reader.listIfAllowed(kind, namespace)) ?? []
  const near = nearest(
    name,
    there.map(({ metadata }) => metadata.name ?? ""),
  )
  const elsewhere =
    near === undefined
      ? ((await reader.listIfAllowed(kind)) ?? []).filter(({ metadata }) => metadata.name === name)
      : []
  const [other] = elsewhere
  const hasPossibleName = isDNS1123Subdomain(name) === undefined
  const create =
    kind === CONFIG_MAPS
      ? command`kubectl create configmap ${name} -n ${namespace} --from-literal=KEY=VALUE`
      : command`kubectl create secret generic ${name} -n ${namespace} --from-literal=KEY=VALUE`
  return finding(
    `${what}-missing`,
    `${kind.kind} ${name}, which ${at} needs, does not exist in namespace ${namespace}` +
      (near !== undefined ? `; there is ${near}` : other === undefined ? "" : `, but in ${other.metadata.namespace}`),
    {
      hints: hasPossibleName ? [create] : [],
    },
  )
}

function* needsOf({ spec }: Pod): Generator<Need> {
  for (const container of [...(spec.initContainers ?? []), ...(spec.containers ?? [])]) {
    const at = `container ${container.name}`
    for (const { configMapRef, secretRef } of container.envFrom ?? []) {
      if (configMapRef?.name && configMapRef.optional !== true)
        yield { kind: CONFIG_MAPS, name: configMapRef.name, at: `envFrom of ${at}` }
      if (secretRef?.name && secretRef.optional !== true)
        yield { kind: SECRETS, name: secretRef.name, at: `envFrom of ${at}` }
    }
    for (const { name: variable, valueFrom } of container.env ?? []) {
      const { configMapKeyRef: map, secretKeyRef: secret } = valueFrom ?? {}
      const of = `variable ${variable} of ${at}`
      if (map?.name && map.optional !== true) yield { kind: CONFIG_MAPS, name: map.name, key: map.key, at: of }
      if (secret?.name && secret.optional !== true) yield { kind: SECRETS, name: secret.name, key: secret.key, at: of }
    }
  }
  for (const { name: volume, configMap, secret, projected } of spec.volumes ?? []) {
    const at = `volume ${volume}`
    if (configMap?.name && configMap.optional !== true)
      yield* withKeys(CONFIG_MAPS, configMap.name, configMap.items, at)
    if (secret?.secretName && secret.optional !== true) yield* withKeys(SECRETS, secret.secretName, secret.items, at)
    for (const source of projected?.sources ?? []) {
      if (source.configMap?.name && source.configMap.optional !== true)
        yield* withKeys(CONFIG_MAPS, source.configMap.name, source.configMap.items, at)
      if (source.secret?.name && source.secret.optional !== true)
        yield* withKeys(SECRETS, source.secret.name, source.secret.items, at)
    }
  }
}

function* withKeys(
  kind: Kind,
  name: string,
  items: readonly { readonly key: string }[] | undefined,
  at: string,
): Generator<Need> {
  if (items === undefined || items.length === 0) yield { kind, name, at }
  for (const { key } of items ?? []) yield { kind, name, key, at }
}

/** Returns that the account of a pod does not exist; pods are refused then, so this is asked of owners. */
export async function accountFinding(
  namespace: string,
  name: string,
  { reader }: Ward,
  evidence: readonly string[],
): Promise<Finding | undefined> {
  const account = await reader.get(ACCOUNTS, namespace, name)
  return account === undefined
    ? finding("service-account-missing", `ServiceAccount ${namespace}/${name} does not exist`, {
        evidence,
        mends: [
          mend(command`kubectl create serviceaccount ${name} -n ${namespace}`, "creates the account, without rights"),
        ],
      })
    : undefined
}
