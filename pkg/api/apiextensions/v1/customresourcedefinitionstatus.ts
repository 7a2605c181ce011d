import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { named } from "./jsonschemaprops.ts"
import { CustomResourceDefinitionNames } from "./customresourcedefinitionspec.ts"

export const CustomResourceDefinitionCondition = message(
  named("CustomResourceDefinitionCondition"),
  "One aspect of a definition's state.",
  {
    type: f.string(1, "Established, NamesAccepted, NonStructuralSchema or Terminating.").printZero(),
    status: f.string(2, "True, False or Unknown.").printZero(),
    lastTransitionTime: f.time(3, "When the status last changed.").orNull(),
    reason: f.string(4, "Why, in a word."),
    message: f.string(5, "Why, for people."),
    observedGeneration: f.int64(6, "Generation that was looked at."),
  },
)
export interface CustomResourceDefinitionCondition extends ObjectOf<typeof CustomResourceDefinitionCondition> {}

export const CustomResourceDefinitionStatus = message(
  named("CustomResourceDefinitionStatus"),
  "The state of a definition.",
  {
    conditions: f.list(1, CustomResourceDefinitionCondition, "Aspects of its state.").listMap("type").orNull(),
    acceptedNames: f.message(2, CustomResourceDefinitionNames, "Names under which objects are served.").always(),
    storedVersions: f.list(3, e.string, "Versions in which objects may be stored.").atomic().orNull(),
    observedGeneration: f.int64(4, "Generation that was looked at."),
  },
)
export interface CustomResourceDefinitionStatus extends ObjectOf<typeof CustomResourceDefinitionStatus> {}
