import { Secret } from "../../components/cluster/testing/testing.ts"
import { object } from "./reports.cases.ts"
import { deployment, type Situation } from "./situation.fixtures.ts"

const web = deployment("web", `{containers: [{name: c, image: "app:1"}]}`)

/** Objects that only name others, which are not there or not meant. */
export const NAMING: readonly Situation[] = [
  {
    title: "a webhook whose Service is gone, asked about itself",
    yaml: object(
      "admissionregistration.k8s.io/v1",
      "ValidatingWebhookConfiguration",
      "guard",
      `webhooks: [{name: guard.example.com, sideEffects: None, admissionReviewVersions: [v1], failurePolicy: Fail, clientConfig: {service: {name: guard, namespace: default}}, rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}]`,
    ),
    ask: "validatingwebhookconfiguration/guard",
    cause: "webhook-down",
    says: /guard\.example\.com asks Service default\/guard, which does not exist: all that it must be asked about is refused/,
  },
  {
    title: "a binding of nobody but accounts that do not exist, asked about itself",
    yaml:
      object("rbac.authorization.k8s.io/v1", "Role", "reader", "rules: []") +
      object(
        "rbac.authorization.k8s.io/v1",
        "RoleBinding",
        "web",
        "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}\nsubjects: [{kind: ServiceAccount, name: deafult, namespace: default}]",
      ),
    ask: "rolebinding/web",
    cause: "service-account-missing",
    says: /ServiceAccount default\/deafult, to which it gives the rights, does not exist/,
  },
  {
    title: "a binding to a role that does not exist, asked about itself",
    yaml:
      object("rbac.authorization.k8s.io/v1", "Role", "reader", "rules: []") +
      object(
        "rbac.authorization.k8s.io/v1",
        "RoleBinding",
        "web",
        "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: raeder}\nsubjects: [{kind: ServiceAccount, name: default, namespace: default}]",
      ),
    ask: "rolebinding/web",
    cause: "role-missing",
    says: /Role raeder, which it binds, does not exist in namespace default: it gives no right; there is reader/,
  },
  {
    title: "a binding to an admission policy that does not exist",
    yaml: object(
      "admissionregistration.k8s.io/v1",
      "ValidatingAdmissionPolicyBinding",
      "few",
      "spec: {policyName: few, validationActions: [Deny]}",
    ),
    ask: "validatingadmissionpolicybinding/few",
    cause: "policy-missing",
    says: /ValidatingAdmissionPolicy few, which it names, does not exist/,
  },
  {
    title: "an autoscaler with a typing error in the name of its target",
    yaml:
      web +
      object(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        "web",
        "spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: wbe}}",
      ),
    ask: "hpa/web",
    cause: "autoscaler-target-missing",
    says: /its target Deployment wbe does not exist; there is web/,
  },
  {
    title: "a role that gives a right for another object",
    yaml:
      object(
        "rbac.authorization.k8s.io/v1",
        "Role",
        "reader",
        'rules: [{apiGroups: [""], resources: [secrets], verbs: [get], resourceNames: [database]}]',
      ) +
      object(
        "rbac.authorization.k8s.io/v1",
        "RoleBinding",
        "web",
        "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}\nsubjects: [{kind: ServiceAccount, name: default, namespace: default}]",
      ),
    ask: "deployment/web",
    cause: "right-missing",
    says: /Role reader, which RoleBinding default\/web binds, has it for database only/,
    mends: 1,
    tried: "not-known",
    breaks: async (cluster) => {
      const account = cluster.as("system:serviceaccount:default:default", ["system:serviceaccounts"])
      cluster.setImage("app:1", {
        async run(container) {
          try {
            await account.get(Secret, { namespace: "default", name: "db" })
          } catch (err) {
            // Logs in JSON escape the quotes of the message.
            container.log(JSON.stringify({ level: "error", error: (err as Error).message }))
            return 1
          }
          await container.sleep(1e9)
          return 0
        },
      })
      await cluster.apply(object("v1", "Secret", "db", "") + web)
    },
  },
]
