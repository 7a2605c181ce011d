import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { PROVIDER_CA } from "../../../components/apiserver/authentication/oidc/provider.fixtures.ts"
import type { Programs } from "./programs.ts"

/** The token of the administrator, in the file of tokens. */
export const ADMIN_TOKEN = "token-admin"
export const AUDIENCE = "https://kubernetes.default.svc.cluster.local"

const TOKENS = `${ADMIN_TOKEN},admin,1,"system:masters"
token-jane,jane,1001,"developers,admins"
token-john,john,1002
token-hash,#hash,1003,"one"
`

/** Returns the flags of an API server, of upstream's names, for files that it writes to the folder. */
export function writeFiles(folder: string, programs: Programs): string[] {
  const file = (name: string, content: string | object): string => {
    const path = join(folder, name)
    writeFileSync(path, typeof content === "string" ? content : `${JSON.stringify(content, undefined, 2)}\n`)
    return path
  }
  const webhook = (name: string, path: string) =>
    file(`${name}.kubeconfig`, {
      apiVersion: "v1",
      kind: "Config",
      clusters: [
        {
          name,
          cluster: {
            server: `${programs.webhooks}${path}`,
            "certificate-authority-data": Buffer.from(programs.authorities.webhooks.certPem).toString("base64"),
          },
        },
      ],
      users: [{ name: "server", user: {} }],
      contexts: [{ name, context: { cluster: name, user: "server" } }],
      "current-context": name,
    })
  const flags = {
    "token-auth-file": file("tokens.csv", TOKENS),
    "client-ca-file": file("clients.pem", programs.authorities.clients.certPem),
    "requestheader-client-ca-file": file("proxies.pem", programs.authorities.proxies.certPem),
    "requestheader-allowed-names": "good-proxy",
    "requestheader-username-headers": "X-Remote-User",
    "requestheader-group-headers": "X-Remote-Group",
    "requestheader-uid-headers": "X-Remote-Uid",
    "requestheader-extra-headers-prefix": "X-Remote-Extra-",
    "authentication-token-webhook-config-file": webhook("authenticate", "/authenticate"),
    "authentication-token-webhook-version": "v1",
    "authentication-config": file("authentication.json", authentication(programs)),
    "authorization-config": file(
      "authorization.json",
      authorization(webhook("authorize", "/authorize"), webhook("broken", "/broken")),
    ),
    "service-account-issuer": AUDIENCE,
    "enable-admission-plugins": ENABLED,
    "admission-control-config-file": file("admission.json", admission(webhook("images", "/images"))),
    "audit-policy-file": file("audit.json", AUDIT_POLICY),
    "audit-log-path": auditLogOf(folder),
  }
  return Object.entries(flags).map(([name, value]) => `--${name}=${value}`)
}

export const auditLogOf = (folder: string): string => join(folder, "audit.log")

const ENABLED = [
  "AlwaysPullImages",
  "DenyServiceExternalIPs",
  "EventRateLimit",
  "ExtendedResourceToleration",
  "ImagePolicyWebhook",
  "LimitPodHardAntiAffinityTopology",
  "NamespaceAutoProvision",
  "NodeRestriction",
  "OwnerReferencesPermissionEnforcement",
  "PodNodeSelector",
  "PodTolerationRestriction",
].join(",")

const authentication = ({ plain, expressive }: Programs) => ({
  apiVersion: "apiserver.config.k8s.io/v1",
  kind: "AuthenticationConfiguration",
  jwt: [
    {
      issuer: { url: plain.issuer, audiences: ["k3ts"], certificateAuthority: PROVIDER_CA },
      claimValidationRules: [{ claim: "hd", requiredValue: "acme.com" }],
      claimMappings: { username: { claim: "sub", prefix: "oidc:" }, groups: { claim: "groups", prefix: "oidc:" } },
    },
    {
      issuer: {
        url: expressive.issuer,
        audiences: ["k3ts", "other"],
        audienceMatchPolicy: "MatchAny",
        certificateAuthority: PROVIDER_CA,
      },
      claimValidationRules: [
        { expression: "claims.email_verified == true", message: "the address must be verified" },
        { expression: "claims.exp - claims.nbf <= 86400", message: "too long a life" },
      ],
      claimMappings: {
        username: { expression: "'cel:' + claims.email" },
        groups: { expression: "claims.roles" },
        uid: { expression: "claims.?number.orValue('none')" },
        extra: [
          { key: "acme.com/tenant", valueExpression: "claims.tenant" },
          { key: "acme.com/levels", valueExpression: "claims.?levels.orValue([])" },
        ],
      },
      userValidationRules: [
        { expression: "!user.username.startsWith('cel:root')", message: "root is not from here" },
        { expression: "user.groups.all(group, !group.startsWith('system:'))", message: "no groups of the system" },
      ],
    },
  ],
  anonymous: { enabled: true, conditions: [{ path: "/livez" }, { path: "/readyz" }, { path: "/version" }] },
})

const authorization = (authorize: string, broken: string) => ({
  apiVersion: "apiserver.config.k8s.io/v1",
  kind: "AuthorizationConfiguration",
  authorizers: [
    {
      type: "Webhook",
      name: "policy",
      webhook: {
        timeout: "3s",
        subjectAccessReviewVersion: "v1",
        matchConditionSubjectAccessReviewVersion: "v1",
        failurePolicy: "NoOpinion",
        authorizedTTL: "30s",
        unauthorizedTTL: "30s",
        connectionInfo: { type: "KubeConfigFile", kubeConfigFile: authorize },
        matchConditions: [
          { expression: "!request.user.startsWith('system:')" },
          { expression: "has(request.nonResourceAttributes) || request.resourceAttributes.namespace == 'compared'" },
        ],
      },
    },
    {
      type: "Webhook",
      name: "strict",
      webhook: {
        timeout: "3s",
        subjectAccessReviewVersion: "v1",
        matchConditionSubjectAccessReviewVersion: "v1",
        failurePolicy: "Deny",
        authorizedTTL: "30s",
        unauthorizedTTL: "30s",
        connectionInfo: { type: "KubeConfigFile", kubeConfigFile: broken },
        matchConditions: [
          { expression: "has(request.resourceAttributes) && request.resourceAttributes.namespace == 'strict'" },
        ],
      },
    },
    { type: "Node", name: "node" },
    { type: "RBAC", name: "rbac" },
  ],
})

const admission = (images: string) => ({
  apiVersion: "apiserver.config.k8s.io/v1",
  kind: "AdmissionConfiguration",
  plugins: [
    {
      name: "PodSecurity",
      configuration: {
        apiVersion: "pod-security.admission.config.k8s.io/v1",
        kind: "PodSecurityConfiguration",
        defaults: {
          enforce: "baseline",
          "enforce-version": "latest",
          audit: "restricted",
          "audit-version": "latest",
          warn: "restricted",
          "warn-version": "v1.30",
        },
        exemptions: { usernames: ["jane"], namespaces: ["exempt"], runtimeClasses: ["sealed"] },
      },
    },
    {
      name: "EventRateLimit",
      configuration: {
        apiVersion: "eventratelimit.admission.k8s.io/v1alpha1",
        kind: "Configuration",
        limits: [
          { type: "User", qps: 50, burst: 100 },
          { type: "SourceAndObject", qps: 1, burst: 1, cacheSize: 100 },
        ],
      },
    },
    {
      name: "PodNodeSelector",
      configuration: {
        podNodeSelectorPluginConfig: {
          clusterDefaultNodeSelector: "disk=ssd",
          selected: "zone=a",
        },
      },
    },
    {
      name: "PodTolerationRestriction",
      configuration: {
        apiVersion: "podtolerationrestriction.admission.k8s.io/v1alpha1",
        kind: "Configuration",
        default: [{ key: "by-default", operator: "Exists" }],
        whitelist: [
          { key: "by-default", operator: "Exists" },
          { key: "allowed", operator: "Equal", value: "yes" },
          { key: "node.kubernetes.io/not-ready", operator: "Exists" },
          { key: "node.kubernetes.io/unreachable", operator: "Exists" },
          { key: "node.kubernetes.io/memory-pressure", operator: "Exists" },
          { key: "acme.com/gpu", operator: "Exists" },
        ],
      },
    },
    {
      name: "ImagePolicyWebhook",
      configuration: {
        imagePolicy: { kubeConfigFile: images, allowTTL: 50, denyTTL: 50, retryBackoff: 500, defaultAllow: false },
      },
    },
    {
      name: "ResourceQuota",
      configuration: {
        apiVersion: "apiserver.config.k8s.io/v1",
        kind: "ResourceQuotaConfiguration",
        limitedResources: [{ resource: "services", matchContains: ["services.loadbalancers"] }],
      },
    },
  ],
})

const AUDIT_POLICY = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  omitManagedFields: true,
  rules: [
    { level: "None", users: ["john"], verbs: ["get"], nonResourceURLs: ["/version", "/healthz*"] },
    { level: "None", resources: [{ group: "", resources: ["endpoints", "services/status"] }] },
    {
      level: "Request",
      resources: [{ group: "", resources: ["configmaps"], resourceNames: ["allowed-request"] }],
      omitStages: [],
    },
    { level: "Metadata", resources: [{ group: "", resources: ["secrets", "serviceaccounts/token"] }] },
    { level: "Metadata", resources: [{ group: "authentication.k8s.io", resources: ["tokenreviews"] }] },
    { level: "RequestResponse", namespaces: ["compared"], omitStages: ["ResponseStarted"] },
    { level: "Metadata", userGroups: ["system:nodes"], omitStages: ["ResponseComplete"] },
    { level: "RequestResponse", resources: [{ group: "authentication.k8s.io" }], omitManagedFields: false },
    { level: "Request", resources: [{ group: "authorization.k8s.io" }] },
    { level: "Metadata" },
  ],
}
