/** The types of kubectl's own commands, by the name that messages give them. */
export const KUBECTL_SCHEME = "k8s.io/kubectl/pkg/scheme/scheme.go:28"

/** The types of client-go, which `port-forward` reads objects into. */
export const CLIENT_GO_SCHEME = "k8s.io/client-go/kubernetes/scheme/register.go:82"
