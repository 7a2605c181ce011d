import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { FlowSchemaCondition } from "./condition.ts"

/** Source: k8s.io/api flowcontrol/v1/types.go. */

const named = (doc: string) => f.string(1, doc).required().ownRule()

export const UserSubject = message("flowcontrol.v1.UserSubject", "A user.", {
  name: named("Name of the user; `*` for every one."),
})
export const GroupSubject = message("flowcontrol.v1.GroupSubject", "The users of a group.", {
  name: named("Name of the group; `*` for every one."),
})
export const ServiceAccountSubject = message("flowcontrol.v1.ServiceAccountSubject", "A service account.", {
  namespace: named("Namespace of the account."),
  name: f.string(2, "Name of the service account; `*` for all of the namespace.").required().ownRule(),
})

export const Subject = message(
  "flowcontrol.v1.Subject",
  "The sender of a request.",
  {
    kind: f.string(1, "Which of the other fields is set: User, Group or ServiceAccount.").required().ownRule(),
    user: f.message(2, UserSubject, "The user.").pointer(),
    group: f.message(3, GroupSubject, "The group.").pointer(),
    serviceAccount: f.message(4, ServiceAccountSubject, "The service account.").pointer(),
  },
  { unions: [{ discriminator: "kind", fields: ["group", "serviceAccount", "user"] }] },
)
export interface Subject extends ObjectOf<typeof Subject> {}

const verbs = f.list(1, e.string, "Verbs of the requests; `*` alone for all.").required().ownRule().listSet()

export const ResourcePolicyRule = message(
  "flowcontrol.v1.ResourcePolicyRule",
  "Requests for resources. A request matches when each of its parts is in the list for it.",
  {
    verbs,
    apiGroups: f.list(2, e.string, "Groups of the resources; `*` alone for all.").required().ownRule().listSet(),
    resources: f
      .list(3, e.string, "Plurals, with `/` and the subresource for one; `*` alone for all.")
      .required()
      .ownRule()
      .listSet(),
    clusterScope: f.bool(4, "Whether requests match that name no namespace."),
    namespaces: f.list(5, e.string, "Namespaces; a single `*` means all.").orNull().listSet(),
  },
)
export interface ResourcePolicyRule extends ObjectOf<typeof ResourcePolicyRule> {}

export const NonResourcePolicyRule = message(
  "flowcontrol.v1.NonResourcePolicyRule",
  "Requests for paths that are no resources.",
  {
    verbs,
    nonResourceURLs: f
      .list(6, e.string, "Paths, which hold for those below them too; `*` alone for all.")
      .required()
      .ownRule()
      .listSet(),
  },
)
export interface NonResourcePolicyRule extends ObjectOf<typeof NonResourcePolicyRule> {}

export const PolicyRulesWithSubjects = message(
  "flowcontrol.v1.PolicyRulesWithSubjects",
  "Requests of some users. A request matches when one of the subjects sends it and one of the rules describes it.",
  {
    subjects: f
      .list(1, Subject, "Users, groups and service accounts that send the requests.")
      .required()
      .ownRule()
      .atomic(),
    resourceRules: f.list(2, ResourcePolicyRule, "Requests for resources.").atomic(),
    nonResourceRules: f.list(3, NonResourcePolicyRule, "Requests for paths that are no resources.").atomic(),
  },
)
export interface PolicyRulesWithSubjects extends ObjectOf<typeof PolicyRulesWithSubjects> {}

export const FlowDistinguisherMethod = message(
  "flowcontrol.v1.FlowDistinguisherMethod",
  "How the requests of a FlowSchema are divided into flows.",
  { type: f.string(1, "ByUser or ByNamespace.").required().ownRule() },
)

export const PriorityLevelConfigurationReference = message(
  "flowcontrol.v1.PriorityLevelConfigurationReference",
  "Names a PriorityLevelConfiguration.",
  { name: named("Its name.") },
)

export const FlowSchemaSpec = message(
  "flowcontrol.v1.FlowSchemaSpec",
  "Which requests are meant, and at which priority level they are served.",
  {
    priorityLevelConfiguration: f
      .message(1, PriorityLevelConfigurationReference, "The priority level.")
      .required()
      .ownRule(),
    matchingPrecedence: f
      .int32(2, "Of the schemas that match a request the one with the lowest number is taken.")
      .default(1000),
    distinguisherMethod: f
      .message(3, FlowDistinguisherMethod, "What makes requests one flow; without it all of them are one.")
      .pointer(),
    rules: f
      .list(4, PolicyRulesWithSubjects, "The requests that match: those that one of the rules describes.")
      .atomic(),
  },
)
export interface FlowSchemaSpec extends ObjectOf<typeof FlowSchemaSpec> {}

export const FlowSchemaStatus = message("flowcontrol.v1.FlowSchemaStatus", "The present state.", {
  conditions: f.list(1, FlowSchemaCondition, "Aspects of the state.").listMap("type").merge("type"),
})
