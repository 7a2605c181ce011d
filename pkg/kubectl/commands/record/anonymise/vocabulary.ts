import { RESOURCES } from "../../../../api/resources.ts"

/** Words that many clusters have, so that they tell nothing of one: those of Kubernetes' own names. */
const COMMON = `
  account admin affinity after agent aggregation api apiserver app apply apps architecture arch attachdetach
  authenticated autoscaler autoscaling aws azure backend batch beta binder binding bootstrap bound bridge bundle
  cert certificate change cidr cidrs class cleaner client cluster clusterrole collector com component conf config
  container containers control controller coordination core cpu create created cron cronjob crt csi csr custom daemon data
  default delete deployment disk disruption dns docker domain edit edge endpoint endpoints endpointslice
  endpointslicemirroring ephemeral error events evict eviction exclude expand external failure finished flowcontrol
  foreground deletion frontend garbage gateway generic get github google gcp group groups hash helm horizontal host
  hostname http https hugepages image index info ingress instance instances internal io issuer
  job k3ts k8s key kube kubeadm kubeconfig kubectl kubelet kubernetes label labels leader lease legacy limit limits
  linux list local localhost log logs main manage managed manager master masters memory metadata metrics migrator
  monitoring mutating name namespace namespaces network nginx node nodes not object on operator orphan org os owner part patch
  path persistent plane pod pods policy port priority probe projected protection protocol provider provisioner proxy public publisher
  pull pv pvc quota rbac read ready redis region registry release replication replicaset requests resource resources
  resourceclaim resourcequota restart restricted revision role rollout root route running scale scaledown scheduler
  scheduling secret server serviceaccount serviceaccounts service services serving set sha256 side signer slice source spec
  stage start state stateful statefulset status step storage storageclass svc system taint team template test tier
  time tls tmp token token topology true false ttl type unauthenticated unreachable unschedulable update updated user
  usr validating validatingadmissionpolicy value var version view volume volumes warning watch webhook web worker workload
  write zone access etc lib run secrets all amd64 any approve arm64 attest auto bind containerd critical customresourcecleanup deletecollection
  escalate foregrounddeletion impersonate ipv4 ipv6 net none out pid pressure raw sign sys unavailable use v1alpha1
  v1beta1 v2beta1 v2beta2`

/** Returns the words that stay; those of the names of custom kinds do too, since controllers must find these. */
export function vocabularyOf(names: readonly string[]): ReadonlySet<string> {
  const words = new Set(COMMON.split(/\s+/).filter((word) => word !== ""))
  const own = RESOURCES.flatMap(({ group, plural, kind, singular, shortNames = [] }) => [
    group,
    plural,
    kind,
    singular ?? "",
    ...shortNames,
  ])
  for (const name of [...own, ...names]) for (const word of wordsIn(name)) words.add(word.toLowerCase())
  return words
}

/** What names are made of: letters and digits. */
export const WORD = /[A-Za-z0-9]+/g

const wordsIn = (name: string): readonly string[] => name.match(WORD) ?? []
