/**
 * Roles within kube-system and kube-public. Facts from upstream's
 * plugin/pkg/auth/authorizer/rbac/bootstrappolicy/namespace_policy.go.
 */
import type { PolicyRule } from "../../../pkg/api/rbac/v1/rules.ts"
import { EVENTS, on, READ } from "./bootstrap-rules.ts"
import type { BootstrapBinding } from "./bootstrap-cluster-bindings.ts"

export interface BootstrapRole {
  readonly namespace: string
  readonly name: string
  readonly rules: readonly PolicyRule[]
}

const LEADER_LOCKING = on("get watch list create update", "coordination.k8s.io", "leases leasecandidates")

export const ROLES: readonly BootstrapRole[] = [
  {
    namespace: "kube-system",
    name: "extension-apiserver-authentication-reader",
    rules: [on(READ, "core", "configmaps", "extension-apiserver-authentication")],
  },
  { namespace: "kube-system", name: "system:controller:bootstrap-signer", rules: [on(READ, "core", "secrets")] },
  {
    namespace: "kube-system",
    name: "system:controller:cloud-provider",
    rules: [on("create get list watch", "core", "configmaps")],
  },
  {
    namespace: "kube-system",
    name: "system:controller:token-cleaner",
    rules: [on("get list watch delete", "core", "secrets"), EVENTS],
  },
  {
    // Not in upstream: the part that lets machines join keeps the hashes of their passwords.
    namespace: "kube-system",
    name: "system:k3ts-supervisor",
    rules: [on("get list create delete", "core", "secrets"), on("list", "coordination.k8s.io", "leases")],
  },
  {
    // Not in upstream: of several servers one writes the statuses of Ingresses and Gateways.
    namespace: "kube-system",
    name: "system:k3ts-ingress",
    rules: [
      on("create", "coordination.k8s.io", "leases"),
      on("get update", "coordination.k8s.io", "leases", "k3ts-ingress"),
    ],
  },
  { namespace: "kube-system", name: "system::leader-locking-kube-controller-manager", rules: [LEADER_LOCKING] },
  { namespace: "kube-system", name: "system::leader-locking-kube-scheduler", rules: [LEADER_LOCKING] },
  {
    namespace: "kube-public",
    name: "system:controller:bootstrap-signer",
    rules: [on(READ, "core", "configmaps"), on("update", "core", "configmaps", "cluster-info"), EVENTS],
  },
]

export const ROLE_BINDINGS: readonly (BootstrapBinding & {
  readonly namespace: string
  /** The role's name unless given. */ readonly name?: string
})[] = [
  {
    namespace: "kube-system",
    name: "system::extension-apiserver-authentication-reader",
    role: "extension-apiserver-authentication-reader",
    users: ["system:kube-controller-manager", "system:kube-scheduler"],
  },
  {
    namespace: "kube-system",
    role: "system::leader-locking-kube-controller-manager",
    users: ["system:kube-controller-manager"],
    accounts: ["kube-system/kube-controller-manager", "kube-system/leader-election-controller"],
  },
  {
    namespace: "kube-system",
    role: "system::leader-locking-kube-scheduler",
    users: ["system:kube-scheduler"],
    accounts: ["kube-system/kube-scheduler"],
  },
  { namespace: "kube-system", role: "system:controller:bootstrap-signer", accounts: ["kube-system/bootstrap-signer"] },
  { namespace: "kube-system", role: "system:controller:cloud-provider", accounts: ["kube-system/cloud-provider"] },
  { namespace: "kube-system", role: "system:controller:token-cleaner", accounts: ["kube-system/token-cleaner"] },
  { namespace: "kube-system", role: "system:k3ts-supervisor", users: ["system:k3ts-supervisor"] },
  { namespace: "kube-system", role: "system:k3ts-ingress", accounts: ["kube-system/k3ts-ingress"] },
  { namespace: "kube-public", role: "system:controller:bootstrap-signer", accounts: ["kube-system/bootstrap-signer"] },
]
