/**
 * Labels of Kubernetes' own domains that kubelets set on their Nodes. Source:
 * k8s.io/kubelet/pkg/apis/well_known_labels.go.
 */
const OWN_LABELS = new Set([
  "kubernetes.io/hostname",
  "kubernetes.io/os",
  "kubernetes.io/arch",
  "beta.kubernetes.io/os",
  "beta.kubernetes.io/arch",
  "node.kubernetes.io/instance-type",
  "beta.kubernetes.io/instance-type",
  "topology.kubernetes.io/zone",
  "topology.kubernetes.io/region",
  "failure-domain.beta.kubernetes.io/zone",
  "failure-domain.beta.kubernetes.io/region",
])

/**
 * Returns whether a node may set a label on itself. Labels under node-restriction.kubernetes.io, and unknown labels of
 * Kubernetes' own domains, may be set only by administrators, since they may select the nodes for pods that need a
 * trusted node. Source: plugin/pkg/admission/noderestriction getForbiddenLabels.
 */
export function isOfKubelet(key: string): boolean {
  const domain = key.includes("/") ? key.slice(0, key.indexOf("/")) : ""
  if (isIn(domain, "node-restriction.kubernetes.io")) return false
  if (!isIn(domain, "kubernetes.io") && !isIn(domain, "k8s.io")) return true
  return OWN_LABELS.has(key) || isIn(domain, "kubelet.kubernetes.io") || isIn(domain, "node.kubernetes.io")
}
const isIn = (domain: string, parent: string): boolean => domain === parent || domain.endsWith(`.${parent}`)
