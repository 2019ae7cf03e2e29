const about = (context) => ({ session_id: context.sessionId, cwd: context.workspaceDir });

export default {
  id: "prowess",
  name: "Prowess",
  description: "Names the skills that fit a message.",
  register(api) {
    api.on("before_prompt_build", async (event, context) => {
      const prompt = event.currentUserMessage ?? event.prompt;
      // A heartbeat or a timer is nobody's message.
      if (!prompt || (context.trigger ?? "user") !== "user") return undefined;
      const text = await ask("UserPromptSubmit", { ...about(context), prompt });
      return text ? { appendContext: text } : undefined;
    });
    api.on("agent_end", (_event, context) => ask("Stop", about(context)));
  },
};
