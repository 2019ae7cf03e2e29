"""Messages that people send to any assistant, and errands that need to know how: what "none" means.

Small talk, general questions and writing from the top of one's head need no skill; the errands are
of the kind that skills are made for. The line between the two is drawn in the space of whichever
encoder is used (`prowess.routing.background`). Written by hand, so that no set of messages that
routing is measured on stands behind it.

How much a message sounds like one for any assistant, and not like an errand for a skill.

A line between everyday messages and errands, drawn by least squares in the encoder's own space. It
is held against a message only as far as the catalogue lies on the other side: where the skills
themselves tell jokes or do sums, asking for it is no small talk.
"""

from collections.abc import Mapping
from typing import NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

# Greetings, feelings, knowledge, arithmetic, advice, writing, general questions about programming.
EVERYDAY = tuple(
    """
hello, nice to see you
hi, how are you doing today?
good morning!
hey
thanks a lot, that helped
thank you so much
ok great
you're awesome
bye, see you tomorrow
good night
who are you?
what can you do?
are you a human or a machine?
do you have feelings?
tell me something about yourself
I'm bored
I feel sad today
I had a terrible day at work
I love you
that's funny
never mind
what do you think about that?
do you know any good jokes?
make me laugh
sing me a song
what is 12 times 34?
what's 15 percent of 80?
calculate the square root of 144
if a train travels 60 miles in 45 minutes, how fast is it going?
what is the capital of Australia?
who was the first president of the United States?
when did the second world war end?
how tall is Mount Everest?
why does the moon change its shape?
how do airplanes fly?
what causes earthquakes?
how do batteries store energy?
explain the theory of relativity in simple terms
how many planets are in the solar system?
what is the meaning of life?
what is the meaning of the word melancholy?
what is the difference between affect and effect?
who wrote Romeo and Juliet?
what is the largest animal in the world?
where do penguins live?
where would you usually find a spoon?
what happens if you leave milk in the sun?
what do people do when they are tired?
why do people laugh?
is it better to rent or to buy a house?
should I quit my job?
how do I ask my boss for a raise?
what should I say to a friend whose dog died?
how can I become more confident?
what are some good habits for a healthy life?
how can I sleep better?
what are the symptoms of the flu?
is coffee bad for you?
how do I lose weight quickly?
what should I cook tonight?
give me advice on my relationship
my girlfriend is angry with me, what should I do?
how do I make new friends in a new city?
what should I wear to a wedding?
how do I prepare for a job interview?
what are the pros and cons of remote work?
what career suits an introvert?
write a poem about the sea
write a short story about a dragon and a knight
write an essay about climate change
write a tweet about my new restaurant
write a birthday message for my mother
write a letter to my landlord complaining about noise
write a speech for my best friend's wedding
write a song about summer love
find a good title for my diary
give me five ideas for a birthday party
suggest a slogan for a coffee shop
pretend you are a pirate and greet me
act as a football commentator and describe a goal
continue the dialogue between the waiter and the guest
imagine a world without gravity and describe it
paraphrase this sentence
rewrite the following paragraph in simpler words
fix the grammar of this sentence: he go to school yesterday
summarise the following text in one sentence
what is the Italian word for butterfly?
how do you say thank you in Japanese?
is this review positive or negative: the food was cold and the service slow
classify the following words as animals or plants
extract all names from the text below
answer the question based on the passage
which of the following options is correct?
complete the sentence: the early bird
find the odd one out: apple, banana, carrot, cherry
sort these numbers from small to large
convert 5 miles to kilometres
how many ounces are in a pound?
what is a closure in JavaScript?
what is the difference between a list and a tuple in Python?
how do I reverse a string in Python?
explain recursion to me
what does HTTP 404 mean?
write a function that checks whether a number is prime
how does a hash table work?
what is object oriented programming?
what is the time complexity of quicksort?
what is the difference between TCP and UDP?
which programming language should I learn first?
how does the internet work?
what is machine learning?
will artificial intelligence take our jobs?
who will win the next election?
what are the best movies of all time?
what are the rules of chess?
who is the best football player ever?
how did the dinosaurs die out?
why did the Roman Empire fall?
describe the French Revolution
what are the main religions of the world?
what are the benefits of meditation?
how do vaccines work?
solve the equation 2x + 3 = 11
what comes next in the series 2, 4, 8, 16?
three people share a pizza with eight slices, how many slices does each get?
give me a riddle
tell me a fun fact
what is your favourite colour?
how old are you?
can you keep a secret?
plan a week in Italy for my family
what are good gifts for a ten year old?
how can I save money every month?
what is inflation?
how do I remove a coffee stain from a shirt?
how do I change a flat tyre?
how long should I boil an egg?
how do I tie a tie?
what plants are easy to keep indoors?
can dogs eat chocolate?
compare cats and dogs as pets
debate whether homework should be banned
describe a sunset to someone who cannot see
give me three synonyms for happy
what is the plural of octopus?
what is irony? give an example
discuss the ethical problems of cloning
how do I stay motivated when studying?
who invented the telephone?
name three famous painters
""".strip().splitlines()
)

# Work on something the person has: a repository, a document, a system, an account.
ERRANDS = tuple(
    """
review this pull request before I merge it
open a pull request with these changes
the build is red, find out why
write unit tests for this module
deploy the service to production
roll back the last release
set up a new project with linting and tests
rename this function everywhere it is used
migrate the database to the new schema
find the slow query and make it faster
upgrade our dependencies and fix what breaks
add a login page to the web app
convert this component to TypeScript
debug why the container restarts all the time
write a Dockerfile for this app
scale the cluster to five nodes
rotate the access keys
check our code for security holes
scan the repository for leaked secrets
write release notes from the commits
tag a new version and publish the package
document the public API
draw an architecture diagram of this system
profile the memory use of the worker
set up continuous integration for the repo
the tests are flaky, make them stable
resolve the merge conflict on my branch
squash my last three commits
generate a client from the OpenAPI file
mock the payment provider in our tests
trace a request through the services
look into the error logs from last night
restart the queue workers
create a dashboard for the error rate
set an alert when the disk is nearly full
back up the database every night
import this spreadsheet into the database
clean up the duplicate rows in the customer table
turn this CSV into a chart
build a forecast from the sales data
train a classifier on these labels
evaluate the model on the held-out set
fine-tune the model on our support tickets
scrape the prices from this website
extract the tables from this PDF
merge these two PDF files
fill in this PDF form
make slides from the quarterly report
format this Word document with our template
add a pivot table to the workbook
proofread the contract and mark risky clauses
summarise the meeting recording and list the action items
transcribe this podcast episode
cut the silence out of the video
resize all images in the folder
remove the background from this photo
design a logo in our brand colours
check the page against our style guide
make the site accessible for screen readers
improve the search ranking of our landing page
write the newsletter for this month
schedule the social media posts for next week
plan the launch campaign for the new feature
research what our competitors charge
find leads in the construction industry
update the deal in the CRM
send the invoice to the customer
reconcile the bank statement
prepare the tax report for last year
check whether the expense claims follow our policy
screen these job applications
write a job description for a designer
plan the onboarding of the new colleague
sort my inbox and flag what is urgent
post a message in the team channel
create a ticket for this bug and assign it to me
close the sprint and move what is left
translate this manual into German and keep the layout
what is the share price of this company now
analyse the balance sheet of this company
screen stocks with a low price earnings ratio
convert this invoice into our accounting format
query the warehouse for last week's orders
build a data pipeline from the bucket to the warehouse
validate the incoming JSON against the schema
write a migration that adds an index
set up single sign-on for the admin area
configure the reverse proxy for the new domain
renew the certificate of the web server
write a Terraform module for the network
estimate what this infrastructure will cost
write a runbook for the outage
do the post-mortem of yesterday's incident
run the load test against staging
port this script from bash to Python
wrap this library for use from Go
write a browser extension that blocks this banner
automate filling in this web form
take screenshots of every page of the site
check all links in the documentation
generate test data for the staging system
anonymise the personal data in this export
answer the security questionnaire of the customer
model the entity relationships of this domain
write a smart contract for the escrow
simulate the circuit and plot the output
label the images with bounding boxes
set up the robot arm simulation
write firmware for the temperature sensor
plan the sprint from these tickets
turn this idea into a product requirements document
interview me and write down the specification
break this epic into small tasks
search our wiki for the travel policy
save this to my notes
remember that I prefer short answers
install the missing tool for this skill
connect the assistant to my mail account
""".strip().splitlines()
)


Floats: TypeAlias = NDArray[np.float32]

# With about as many texts as dimensions, an unbridled fit would learn the texts by heart.
_BRIDLE = 3.0


class Everyday(NamedTuple):
    """A direction in the encoder's space and the point where it turns."""

    direction: Floats
    turn: float
    # How much of the catalogue lies on the side of errands, squared: half a catalogue of everyday
    # skills is reason enough to hold little against everyday messages.
    weight: float

    @classmethod
    def between(cls, vectors: Mapping[str, Floats], skills: Floats) -> Self:
        """Draw the line from the vectors of the background texts, and see where `skills` lie."""
        errands = np.array([vectors[text] for text in ERRANDS])
        everyday = np.array([vectors[text] for text in EVERYDAY])
        both = np.concatenate([errands, everyday])
        side = np.concatenate([np.ones(len(errands)), -np.ones(len(everyday))])
        middle = both.mean(axis=0)
        centred = both - middle
        normal = centred.T @ centred + _BRIDLE * np.eye(both.shape[1])
        direction = np.linalg.solve(normal, centred.T @ (side - side.mean()))
        # Scaled so that the average errand is two apart from the average everyday message.
        apart = float((errands @ direction).mean() - (everyday @ direction).mean())
        direction = (direction * (2 / max(apart, 1e-6))).astype(np.float32)
        turn = float(middle @ direction)
        share = float(np.mean(skills @ direction > turn)) if len(skills) else 0.0
        return cls(direction, turn, share**2)

    def leaning(self, message: Floats) -> float:
        """Return how far the message leans to errands, below zero where to everyday messages."""
        return self.weight * (float(message @ self.direction) - self.turn)


def texts() -> tuple[str, ...]:
    """Return every text whose vector is needed to draw the line."""
    return (*ERRANDS, *EVERYDAY)
