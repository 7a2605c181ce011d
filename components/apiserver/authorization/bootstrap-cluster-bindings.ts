/** Gives a role to users, groups and service accounts. */
export interface BootstrapBinding {
  readonly role: string
  readonly users?: readonly string[]
  readonly groups?: readonly string[]
  /** Service accounts as namespace/name. */
  readonly accounts?: readonly string[]
}

/** Who has the cluster roles of every cluster. */
export const CLUSTER_ROLE_BINDINGS: readonly BootstrapBinding[] = [
  { role: "cluster-admin", groups: ["system:masters"] },
  { role: "system:monitoring", groups: ["system:monitoring"] },
  { role: "system:discovery", groups: ["system:authenticated"] },
  { role: "system:basic-user", groups: ["system:authenticated"] },
  { role: "system:public-info-viewer", groups: ["system:authenticated", "system:unauthenticated"] },
  { role: "system:node-proxier", users: ["system:kube-proxy"] },
  { role: "system:kube-controller-manager", users: ["system:kube-controller-manager"] },
  { role: "system:network-policy", accounts: ["kube-system/network-policy"] },
  { role: "system:pod-network", accounts: ["kube-system/pod-network"] },
  { role: "system:kube-dns", accounts: ["kube-system/kube-dns"] },
  { role: "system:k3ts-metrics-server", accounts: ["kube-system/k3ts-metrics-server"] },
  { role: "system:k3ts-ingress", accounts: ["kube-system/k3ts-ingress"] },
  { role: "system:k3ts-node-role", users: ["system:k3ts-node-role"] },
  { role: "system:kubelet-api-admin", users: ["system:k3ts-kubelet-client"] },
  { role: "system:k3ts-supervisor", users: ["system:k3ts-supervisor"] },
  { role: "system:k3ts-agent", users: ["system:k3ts-agent"] },
  { role: "system:local-path-provisioner", accounts: ["kube-system/local-path-provisioner"] },
  { role: "system:kube-scheduler", users: ["system:kube-scheduler"] },
  { role: "system:volume-scheduler", users: ["system:kube-scheduler"] },
  { role: "system:service-account-issuer-discovery", groups: ["system:serviceaccounts"] },
  // The node authorizer grants the rights of nodes, because it knows which node makes the request. Upstream's binding
  // has no subjects either.
  { role: "system:node" },
]
