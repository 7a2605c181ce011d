import { finding, type Finding } from "../answer.ts"
import type { Ward } from "../doctor.ts"
import { SERVICES, STATEFUL_SETS } from "../reading/kinds.ts"

/**
 * Returns why the name of a pod of a StatefulSet (`db-0.db`) does not resolve; undefined for other names. Only a
 * headless Service that the set names gives its pods names.
 */
export async function podNameFinding(
  host: string,
  namespace: string,
  line: string,
  { reader }: Ward,
): Promise<Finding | undefined> {
  const [, name, ordinal, subdomain] = /^([^.]+)-(\d+)\.([^.]+)(?:\.|$)/.exec(host) ?? []
  if (name === undefined || subdomain === undefined) return undefined
  const set = await reader.get(STATEFUL_SETS, namespace, name)
  if (set === undefined) return undefined
  const evidence = [`log: ${line.trim()}`]
  const { serviceName = "" } = set.spec
  const pod = `pod ${name}-${ordinal}`
  if (serviceName !== subdomain)
    return finding(
      "pod-name-not-found",
      `the name ${host} does not resolve: StatefulSet ${name} has serviceName ${JSON.stringify(serviceName)}, so ${pod} has its name there`,
      { evidence },
    )
  const service = await reader.get(SERVICES, namespace, serviceName)
  if (service === undefined)
    return finding(
      "governing-service-missing",
      `the name ${host} does not resolve: Service ${serviceName}, which gives the pods of StatefulSet ${name} their names, does not exist`,
      {
        evidence,
        hints: [`create a Service ${serviceName} with clusterIP: None and the labels of the pods as selector`],
      },
    )
  if (service.spec.clusterIP !== "None")
    return finding(
      "service-not-headless",
      `the name ${host} does not resolve: Service ${serviceName} has an address of its own, and only a headless one (clusterIP: None) gives pods names`,
      { evidence },
    )
  const count = set.spec.replicas ?? 1
  return Number(ordinal) >= count + (set.spec.ordinals?.start ?? 0)
    ? finding(
        "pod-name-not-found",
        `the name ${host} does not resolve: StatefulSet ${name} has ${count} pods, and no number ${ordinal}`,
        {
          evidence,
        },
      )
    : undefined
}
