/** What a new workflow begins with. */
export const starter = `{
  "id": "my-workflow",
  "name": "My workflow",
  "input": {
    "type": "object",
    "required": ["text"],
    "properties": {
      "text": { "type": "string" }
    }
  },
  "steps": [
    {
      "id": "ask",
      "type": "approval",
      "title": "Go on with {{workflow_input.text}}?",
      "approvers": { "roles": ["approver"] },
      "deadline": "1d"
    },
    {
      "id": "result",
      "type": "transform",
      "value": { "text": "{{workflow_input.text}}" }
    }
  ]
}
`;
