import type { CommandEntry } from "../../command/command.ts"

const entry = (
  name: string,
  short: string,
  load: CommandEntry["load"],
  ...aliases: readonly string[]
): CommandEntry => ({ name, short, load, ...(aliases.length === 0 ? {} : { aliases }) })

/** The commands below `create`, each of which makes an object of its arguments, in the order of kubectl's help. */
export const GENERATORS: readonly CommandEntry[] = [
  entry("clusterrole", "Create a cluster role", () =>
    import("./cluster-role.ts").then((file) => file.createClusterRoleCommand),
  ),
  entry("clusterrolebinding", "Create a cluster role binding for a particular cluster role", () =>
    import("./role-binding.ts").then((file) => file.createClusterRoleBindingCommand),
  ),
  entry(
    "configmap",
    "Create a config map from a local file, directory or literal value",
    () => import("./config-map.ts").then((file) => file.createConfigMapCommand),
    "cm",
  ),
  entry(
    "cronjob",
    "Create a cron job with the specified name",
    () => import("./cron-job.ts").then((file) => file.createCronJobCommand),
    "cj",
  ),
  entry(
    "deployment",
    "Create a deployment with the specified name",
    () => import("./deployment.ts").then((file) => file.createDeploymentCommand),
    "deploy",
  ),
  entry(
    "ingress",
    "Create an ingress with the specified name",
    () => import("./ingress.ts").then((file) => file.createIngressCommand),
    "ing",
  ),
  entry("job", "Create a job with the specified name", () => import("./job.ts").then((file) => file.createJobCommand)),
  entry(
    "namespace",
    "Create a namespace with the specified name",
    () => import("./namespace.ts").then((file) => file.createNamespaceCommand),
    "ns",
  ),
  entry(
    "poddisruptionbudget",
    "Create a pod disruption budget with the specified name",
    () => import("./disruption-budget.ts").then((file) => file.createPodDisruptionBudgetCommand),
    "pdb",
  ),
  entry(
    "priorityclass",
    "Create a priority class with the specified name",
    () => import("./priority-class.ts").then((file) => file.createPriorityClassCommand),
    "pc",
  ),
  entry(
    "quota",
    "Create a quota with the specified name",
    () => import("./quota.ts").then((file) => file.createQuotaCommand),
    "resourcequota",
  ),
  entry("role", "Create a role with single rule", () => import("./role.ts").then((file) => file.createRoleCommand)),
  entry("rolebinding", "Create a role binding for a particular role or cluster role", () =>
    import("./role-binding.ts").then((file) => file.createRoleBindingCommand),
  ),
  entry("secret", "Create a secret using a specified subcommand", () =>
    import("./secret.ts").then((file) => file.createSecretCommand),
  ),
  entry(
    "service",
    "Create a service using a specified subcommand",
    () => import("./service.ts").then((file) => file.createServiceCommand),
    "svc",
  ),
  entry(
    "serviceaccount",
    "Create a service account with the specified name",
    () => import("./service-account.ts").then((file) => file.createServiceAccountCommand),
    "sa",
  ),
  entry("token", "Request a service account token", () => import("./token.ts").then((file) => file.createTokenCommand)),
]
