/**
 * The cluster roles that every cluster has. Facts from upstream's
 * plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go.
 */
import type { PolicyRule } from "../../../pkg/api/rbac/v1/rules.ts"
import { EVENTS, on, READ, urls, WRITE } from "./bootstrap-rules.ts"
import { AGGREGATE, USER_ROLES, type BootstrapClusterRole } from "./bootstrap-user-roles.ts"

const DISCOVERY_PATHS = "/livez /readyz /healthz /version /version/ /openapi /openapi/* /api /api/* /apis /apis/*"
const HEALTH_PATHS = "/livez /readyz /healthz /version /version/"

export const CLUSTER_ROLES: readonly BootstrapClusterRole[] = [
  { name: "cluster-admin", rules: [on("*", "*", "*"), urls("*", "*")] },
  { name: "system:discovery", rules: [urls("get", DISCOVERY_PATHS)] },
  {
    name: "system:monitoring",
    rules: [
      urls("get", "/metrics /metrics/slis /livez /readyz /healthz /livez/* /readyz/* /healthz/* /flagz /statusz"),
      on("get", "core", "nodes/metrics"),
    ],
  },
  {
    name: "system:basic-user",
    rules: [
      on("create", "authorization.k8s.io", "selfsubjectaccessreviews selfsubjectrulesreviews"),
      on("create", "authentication.k8s.io", "selfsubjectreviews"),
    ],
  },
  { name: "system:public-info-viewer", rules: [urls("get", HEALTH_PATHS)] },
  ...USER_ROLES,
  {
    name: "system:heapster",
    rules: [on(READ, "core", "events pods nodes namespaces"), on(READ, "extensions", "deployments")],
  },
  { name: "system:node", rules: nodeRules() },
  {
    name: "system:node-problem-detector",
    rules: [on("get", "core", "nodes"), on("patch", "core", "nodes/status"), EVENTS],
  },
  {
    name: "system:kubelet-api-admin",
    rules: [
      on("get list watch proxy", "core", "nodes"),
      on("*", "core", "nodes/proxy nodes/metrics nodes/stats nodes/log nodes/configz nodes/healthz nodes/pods"),
    ],
  },
  {
    name: "system:node-bootstrapper",
    rules: [on("create get list watch", "certificates.k8s.io", "certificatesigningrequests")],
  },
  {
    name: "system:auth-delegator",
    rules: [
      on("create", "authentication.k8s.io", "tokenreviews"),
      on("create", "authorization.k8s.io", "subjectaccessreviews"),
    ],
  },
  { name: "system:kube-aggregator", rules: [on(READ, "core", "services endpoints")] },
  {
    name: "system:kube-controller-manager",
    rules: [
      EVENTS,
      on("create", "coordination.k8s.io", "leases"),
      on("get update", "coordination.k8s.io", "leases", "kube-controller-manager"),
      on("create", "core", "secrets serviceaccounts"),
      on("delete", "core", "secrets"),
      on("get", "core", "namespaces secrets serviceaccounts configmaps"),
      on("update", "core", "secrets serviceaccounts"),
      on("create", "authentication.k8s.io", "tokenreviews"),
      on("create", "authorization.k8s.io", "subjectaccessreviews"),
      on("list watch", "*", "*"),
      on("create", "core", "serviceaccounts/token"),
    ],
  },
  {
    // Differs from upstream: the built-in DNS uses this role, and so it has what CoreDNS has by a role of its own in
    // k3s, and reads its ConfigMap.
    name: "system:kube-dns",
    rules: [
      on("list watch", "core", "endpoints services namespaces pods nodes"),
      on("list watch", "core", "configmaps", "coredns-custom"),
      on("list watch", "discovery.k8s.io", "endpointslices"),
      EVENTS,
    ],
  },
  {
    // These two roles come with metrics-server upstream, under other names, which are left to its manifests and its
    // chart: a user who may view a namespace may see the usage of its pods.
    name: "system:k3ts-metrics-reader",
    labels: { ...AGGREGATE("admin"), ...AGGREGATE("edit"), ...AGGREGATE("view") },
    rules: [on(READ, "metrics.k8s.io", "pods nodes")],
  },
  {
    name: "system:k3ts-metrics-server",
    rules: [on("get", "core", "nodes/metrics"), on(READ, "core", "pods nodes")],
  },
  {
    // Not in upstream: the account that enforces NetworkPolicies.
    name: "system:network-policy",
    rules: [
      on("list watch", "core", "pods namespaces"),
      on("list watch", "networking.k8s.io", "networkpolicies"),
      EVENTS,
    ],
  },
  {
    // Not in upstream: the account that makes the ways to pods of other nodes.
    name: "system:pod-network",
    rules: [on("list watch", "core", "nodes")],
  },
  {
    // Not in upstream: the account of the local-path provisioner.
    name: "system:local-path-provisioner",
    rules: [
      on("get list watch create update delete", "core", "persistentvolumes"),
      on("get list watch update", "core", "persistentvolumeclaims"),
      on(READ, "core", "nodes"),
      on("update", "core", "persistentvolumeclaims/status"),
      on(READ, "storage.k8s.io", "storageclasses"),
      EVENTS,
    ],
  },
  {
    // Not in upstream: the account that serves Ingresses and Gateways, and keeps the definitions of Gateway API up to
    // date.
    name: "system:k3ts-ingress",
    rules: [
      on("list watch", "core", "namespaces services secrets"),
      on("list watch update", "apiextensions.k8s.io", "customresourcedefinitions"),
      on(
        "list watch",
        "gateway.networking.k8s.io",
        "gatewayclasses gateways httproutes grpcroutes tlsroutes referencegrants",
      ),
      on("create", "gateway.networking.k8s.io", "gatewayclasses"),
      on(
        "update",
        "gateway.networking.k8s.io",
        "gatewayclasses/status gateways/status httproutes/status grpcroutes/status tlsroutes/status",
      ),
      on("list watch", "discovery.k8s.io", "endpointslices"),
      on("list watch", "networking.k8s.io", "ingresses ingressclasses"),
      on("update", "networking.k8s.io", "ingresses/status"),
      // The addresses of all servers stand in the statuses.
      on("list watch", "core", "nodes"),
      EVENTS,
    ],
  },
  {
    // Not in upstream: the parts that label the node beside a control plane with its roles, and say which member of
    // etcd it has.
    name: "system:k3ts-node-role",
    rules: [on("list watch patch", "core", "nodes")],
  },
  {
    // Not in upstream: the part that lets machines join.
    name: "system:k3ts-supervisor",
    rules: [on("get", "core", "nodes"), on("get", "discovery.k8s.io", "endpointslices", "kubernetes")],
  },
  {
    // Not in upstream: agents learn where the API servers are.
    name: "system:k3ts-agent",
    rules: [on("list watch", "discovery.k8s.io", "endpointslices", "kubernetes")],
  },
  {
    name: "system:persistent-volume-provisioner",
    rules: [
      on("get list watch create delete", "core", "persistentvolumes"),
      on("get list watch update", "core", "persistentvolumeclaims"),
      on(READ, "storage.k8s.io", "storageclasses"),
      on("watch", "core", "events"),
      EVENTS,
    ],
  },
  {
    name: "system:certificates.k8s.io:certificatesigningrequests:nodeclient",
    rules: [on("create", "certificates.k8s.io", "certificatesigningrequests/nodeclient")],
  },
  {
    name: "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient",
    rules: [on("create", "certificates.k8s.io", "certificatesigningrequests/selfnodeclient")],
  },
  {
    name: "system:volume-scheduler",
    rules: [
      on("get list watch update patch", "core", "persistentvolumes persistentvolumeclaims"),
      on(READ, "storage.k8s.io", "storageclasses"),
    ],
  },
  {
    name: "system:certificates.k8s.io:legacy-unknown-approver",
    rules: [on("approve", "certificates.k8s.io", "signers", "kubernetes.io/legacy-unknown")],
  },
  {
    name: "system:certificates.k8s.io:kubelet-serving-approver",
    rules: [on("approve", "certificates.k8s.io", "signers", "kubernetes.io/kubelet-serving")],
  },
  {
    name: "system:certificates.k8s.io:kube-apiserver-client-approver",
    rules: [on("approve", "certificates.k8s.io", "signers", "kubernetes.io/kube-apiserver-client")],
  },
  {
    name: "system:certificates.k8s.io:kube-apiserver-client-kubelet-approver",
    rules: [on("approve", "certificates.k8s.io", "signers", "kubernetes.io/kube-apiserver-client-kubelet")],
  },
  {
    name: "system:service-account-issuer-discovery",
    rules: [
      urls(
        "get",
        "/.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks /openid/v1/jwks/",
      ),
    ],
  },
  {
    name: "system:node-proxier",
    rules: [
      on("list watch", "core", "services endpoints"),
      on("get list watch", "core", "nodes"),
      EVENTS,
      on("list watch", "discovery.k8s.io", "endpointslices"),
      on("list watch", "networking.k8s.io", "servicecidrs"),
    ],
  },
  {
    name: "system:kube-scheduler",
    rules: [
      EVENTS,
      on("create", "coordination.k8s.io", "leases"),
      on("get list update watch", "coordination.k8s.io", "leases", "kube-scheduler"),
      on(`${READ} ${WRITE}`, "coordination.k8s.io", "leasecandidates"),
      on(READ, "core", "nodes"),
      on("delete get list watch", "core", "pods"),
      on("create", "core", "bindings pods/binding"),
      on("patch update", "core", "pods/status"),
      on(READ, "core", "replicationcontrollers services"),
      on(READ, "apps extensions", "replicasets"),
      on(READ, "apps", "statefulsets"),
      on(READ, "policy", "poddisruptionbudgets"),
      on(READ, "core", "persistentvolumeclaims persistentvolumes"),
      on("create", "authentication.k8s.io", "tokenreviews"),
      on("create", "authorization.k8s.io", "subjectaccessreviews"),
      on(READ, "storage.k8s.io", "csinodes csidrivers csistoragecapacities volumeattachments"),
      on(READ, "core", "namespaces"),
      on(READ, "resource.k8s.io", "deviceclasses resourceslices"),
      on("get list watch create update patch delete", "resource.k8s.io", "resourceclaims"),
      on("get list watch update patch", "resource.k8s.io", "resourceclaims/status"),
      on("update patch", "resource.k8s.io", "resourceclaims/binding"),
      on("update", "core", "pods/finalizers"),
    ],
  },
]

/** The rules of all kubelets together; the node authorizer narrows reads to the objects that the node's pods use. */
export function nodeRules(): readonly PolicyRule[] {
  return [
    on("create", "authentication.k8s.io", "tokenreviews"),
    on("create", "authorization.k8s.io", "subjectaccessreviews localsubjectaccessreviews"),
    on(READ, "core", "services"),
    on("create get list watch", "core", "nodes"),
    on("update patch", "core", "nodes/status"),
    on("update patch", "core", "nodes"),
    EVENTS,
    on(READ, "core", "pods"),
    on("create delete", "core", "pods"),
    on("update patch", "core", "pods/status"),
    on("create", "core", "pods/eviction"),
    on(READ, "core", "secrets configmaps"),
    on("get", "core", "persistentvolumeclaims persistentvolumes"),
    on("get", "core", "endpoints"),
    on("create get list watch", "certificates.k8s.io", "certificatesigningrequests"),
    on("get create delete update patch", "coordination.k8s.io", "leases"),
    on("get", "storage.k8s.io", "volumeattachments"),
    on("create", "core", "serviceaccounts/token"),
    on("get update patch", "core", "persistentvolumeclaims/status"),
    on(READ, "storage.k8s.io", "csidrivers"),
    on("get create update patch delete", "storage.k8s.io", "csinodes"),
    on(READ, "node.k8s.io", "runtimeclasses"),
    on("get", "resource.k8s.io", "resourceclaims"),
    on("deletecollection", "resource.k8s.io", "resourceslices"),
    on("get", "core", "serviceaccounts"),
  ]
}
